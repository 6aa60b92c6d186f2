import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../../tests/support/memory-catalog.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { KillSwitch, readKillSwitch, writeKillSwitch } from "./kill-switch.ts";

const ON = { on: true, at: 5, by: "ann", reason: "to be sure" };

test("the kill switch is off until an operator sets it, and each change counts", async () => {
  const catalog = new MemoryCatalog();
  deepEqual(await readKillSwitch(catalog), { on: false, at: 0, by: "", reason: "" });
  await writeKillSwitch(catalog, ON);
  deepEqual(await readKillSwitch(catalog), ON);
  await writeKillSwitch(catalog, { ...ON, on: false });
  equal((await readKillSwitch(catalog)).on, false);
});

test("a switch that is already set so keeps its first time, operator and reason", async () => {
  const catalog = new MemoryCatalog();
  const never = await writeKillSwitch(catalog, { ...ON, on: false });
  deepEqual(never, { state: { on: false, at: 0, by: "", reason: "" }, unchanged: true });
  deepEqual(await writeKillSwitch(catalog, ON), { state: ON, unchanged: false });
  const again = await writeKillSwitch(catalog, { on: true, at: 9, by: "bob", reason: "me too" });
  deepEqual(again, { state: ON, unchanged: true });
  deepEqual(await readKillSwitch(catalog), ON);
  const off = { on: false, at: 10, by: "bob", reason: "over" };
  deepEqual(await writeKillSwitch(catalog, off), { state: off, unchanged: false });
});

test("K7, S15: a process that could not read the switch for view_max_age, counted from its request, treats it as on", async () => {
  const catalog = new MemoryCatalog();
  const clock = new VirtualClock(0);
  const known = new KillSwitch({ catalog, clock, viewMaxAgeMs: 10_000 });
  equal(known.on(), true, "not asked yet");
  // The answer takes four seconds.
  catalog.before = () => clock.sleep(4_000);
  const asking = known.refresh();
  await clock.advance(4_000);
  await asking;
  equal(known.on(), false);
  catalog.before = () => {
    throw new Error("away");
  };
  await known.refresh();
  await clock.advance(5_999);
  deepEqual([known.on(), known.stale()], [false, false]);
  await clock.advance(1);
  deepEqual([known.on(), known.stale()], [true, true]);
});

test("each process reads the switch within view_max_age, and continues when the catalog is back", async () => {
  const catalog = new MemoryCatalog();
  const clock = new VirtualClock(0);
  const known = new KillSwitch({ catalog, clock, viewMaxAgeMs: 9_000 });
  const stop = new AbortController();
  const running = known.run(stop.signal);
  await clock.advance(1);
  equal(known.on(), false);
  await writeKillSwitch(catalog, ON);
  await clock.advance(9_000);
  deepEqual([known.on(), known.stale()], [true, false]);
  await writeKillSwitch(catalog, { ...ON, on: false });
  await clock.advance(9_000);
  equal(known.on(), false);
  stop.abort();
  await running;
});

test("a late answer does not replace a newer one", async () => {
  const catalog = new MemoryCatalog();
  const clock = new VirtualClock(0);
  const known = new KillSwitch({ catalog, clock, viewMaxAgeMs: 60_000 });
  const read = catalog.read.bind(catalog);
  catalog.read = async (space, key) => {
    const answer = await read(space, key);
    await clock.sleep(5_000);
    return answer;
  };
  const early = known.refresh();
  await clock.advance(1);
  catalog.read = read;
  await writeKillSwitch(catalog, ON);
  await known.refresh();
  await clock.advance(5_000);
  await early;
  equal(known.on(), true);
});

test("a switch that cannot be read is reported, treated as on, and can be set", async () => {
  const catalog = new MemoryCatalog();
  const known = new KillSwitch({ catalog, clock: new VirtualClock(0), viewMaxAgeMs: 10_000 });
  await catalog.write("service", "kill-switch", "{", 0);
  await rejects(readKillSwitch(catalog), { code: "DATA_LOSS" });
  await known.refresh();
  equal(known.on(), true);
  await writeKillSwitch(catalog, { ...ON, on: false });
  await known.refresh();
  equal(known.on(), false);
});
