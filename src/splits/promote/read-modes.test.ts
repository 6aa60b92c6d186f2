import assert from "node:assert/strict";
import { test } from "node:test";
import { ControlWorld } from "../../../tests/support/control-world.ts";
import { readReadyNamespace, updateNamespace } from "../../records/namespace-records.ts";
import { moveSplit } from "../record/move-split.ts";
import { addEvidence, UNSETTLED_FOR_MS } from "../record/read-modes.ts";
import type { StoredEvidence } from "../record/read-modes.ts";
import { publishRoute } from "../../records/route-records.ts";
import { readSlice, readSlices, writeSlice } from "../../records/slice-records.ts";
import type { ReadMode } from "../../model/read-mode.ts";
import { newSplit } from "../../model/split-moves.ts";
import type { Segment, SplitLayout, SplitRecord } from "../../model/split.ts";
import { KindsInUse } from "./kinds-in-use.ts";
import { fallBack, ModeKeeper } from "./mode-keeper.ts";
import { ReadModes } from "./read-modes.ts";

const THRESHOLDS = { shadowReads: 10, compareReads: 50, bytes: 1_000, afterMs: 60_000 };
const WISH = { by: "alice", reason: "a try" };

class World {
  readonly control = new ControlWorld();
  readonly catalog = this.control.catalog;
  readonly clock = this.control.clock;
  readonly changed: string[] = [];
  readonly modes = new ReadModes({
    catalog: this.catalog,
    clock: this.clock,
    thresholds: THRESHOLDS,
    namespaceChanged: async (name) => void this.changed.push(name),
    killSwitchChanged: async () => void this.changed.push("kill switch"),
  });
  readonly moves: string[] = [];
  readonly failed: string[] = [];
  readonly keeper = new ModeKeeper({
    catalog: this.catalog,
    clock: this.clock,
    by: "server-1",
    thresholds: THRESHOLDS,
    observe: ({ namespace, from, to }) => void this.moves.push(`${namespace}: ${from} to ${to}`),
    onFailed: (namespace) => void this.failed.push(namespace),
  });

  static async open(...names: string[]): Promise<World> {
    const world = new World();
    const { namespaces } = world.control.start();
    for (const name of names) await namespaces.create(name, {});
    return world;
  }

  async see(name: string, change: Partial<StoredEvidence> = {}): Promise<void> {
    const { id, readMode } = await readReadyNamespace(this.catalog, name);
    await addEvidence(this.catalog, id, {
      layout: "PACKED",
      layoutVersion: 1,
      strategy: "EVENT_BUCKETS",
      round: readMode.round,
      readsCompared: 50,
      bytesMatched: 1_000,
      bytesDiffered: 0,
      since: this.clock.nowMicros(),
      ...change,
    });
  }

  /** A split of this kind in the first slice, that servers may follow. */
  async routeOf(name: string, layout: SplitLayout, timeBucket = 0): Promise<SplitRecord> {
    const { id } = await readReadyNamespace(this.catalog, name);
    const [slice] = await readSlices(this.catalog, id);
    assert.ok(slice !== undefined);
    const partition = {
      namespaceId: id,
      slice: slice.name,
      seriesId: "s",
      timeBucket,
      eventBucket: 0,
    };
    const split = {
      partition,
      namespace: name,
      epoch: 0,
      bytes: 1,
      events: 1,
      immutable: true,
      detectedAt: 0,
    };
    const segment: Segment = {
      from: slice.start,
      to: slice.start + 1,
      state: "COMPLETED",
      generation: 0,
      layout,
      strategy: "EVENT_BUCKETS",
      why: "",
      partBytes: 1,
      partsPlanned: 0,
      runs: [],
      copiedTo: slice.start,
      bytes: 1,
      events: 1,
      checksum: "",
      confirmedAt: 1,
    };
    const record = newSplit(split, { at: 0, by: "worker-1", reason: "" });
    const moved = await moveSplit(this.catalog, this.clock, undefined, {
      ...record,
      segments: [segment],
    });
    assert.ok(moved !== undefined);
    return moved;
  }

  async modeOf(name: string): Promise<ReadMode> {
    return (await readReadyNamespace(this.catalog, name)).readMode.mode;
  }

  set(mode: ReadMode, options: { force?: boolean; autoAdvance?: boolean } = {}) {
    const { force = false, autoAdvance } = options;
    return this.modes.set("plays", mode, { force, autoAdvance }, WISH);
  }
}

/** As if it had been moved since. */
function later(record: SplitRecord, change: Partial<SplitRecord>, moves = 1): SplitRecord {
  return { ...record, ...change, version: record.version + moves };
}

test("a report says what is there, what comes next and what is in the way", async () => {
  const world = await World.open("plays");
  const first = await world.modes.get("plays");
  assert.deepEqual([first.state.mode, first.nextMode, first.evidence], ["SHADOW", "COMPARE", []]);
  assert.match(first.blockedBy, /no split was compared yet/);
  await world.see("plays");
  assert.match((await world.modes.get("plays")).blockedBy, /0 s of at least 60 s/);
  await world.clock.advance(60_000);
  const passed = await world.modes.get("plays");
  assert.deepEqual([passed.blockedBy, passed.evidence.length], ["", 1]);
  await assert.rejects(world.modes.get("other"), { code: "NAMESPACE_NOT_FOUND" });
});

test("further goes one step at a time and on evidence, or by force; back goes at once", async () => {
  const world = await World.open("plays");
  await assert.rejects(world.set("COMPARE"), {
    code: "CONFLICT",
    message: /no split was compared/,
  });
  await assert.rejects(world.set("SERVE"), { code: "CONFLICT", message: /one step at a time/ });
  const forced = await world.set("SERVE", { force: true });
  const { mode, round, by, reason, since } = forced.state;
  assert.deepEqual([mode, round, by, reason], ["SERVE", 1, "alice", "forced: a try"]);
  assert.equal(since, world.clock.nowMicros());
  assert.equal(forced.nextMode, undefined);
  assert.equal((await world.set("OFF")).state.mode, "OFF");
  assert.equal((await world.set("SHADOW")).state.mode, "SHADOW");
  await world.see("plays");
  await world.clock.advance(60_000);
  assert.equal((await world.set("COMPARE")).state.mode, "COMPARE");
  assert.equal(world.changed.length, 4);
});

test("a new round begins without evidence, and the same mode stays in its round unless forced", async () => {
  const world = await World.open("plays");
  await world.see("plays");
  const same = await world.set("SHADOW", { autoAdvance: false });
  assert.deepEqual([same.state.autoAdvance, same.state.round], [false, 0]);
  assert.equal(same.evidence.length, 1);
  const anew = await world.set("SHADOW", { force: true });
  assert.deepEqual([anew.state.round, anew.evidence], [1, []]);
  await world.see("plays");
  await world.clock.advance(60_000);
  const waiting = await world.modes.get("plays");
  assert.match(waiting.blockedBy, /autoAdvance is off/);
  const next = await world.set("COMPARE");
  assert.deepEqual([next.state.round, next.state.autoAdvance, next.evidence], [2, false, []]);
});

test("a fall-back between looking and setting wins over the wish to go on", async () => {
  const world = await World.open("plays");
  await world.see("plays");
  await world.clock.advance(60_000);
  let falling = true;
  world.catalog.before = async (call, space) => {
    if (!falling || call !== "write" || space !== "namespaces") return;
    falling = false;
    await fallBack(world.catalog, world.clock, "plays", "different bytes", "server-2");
  };
  await assert.rejects(world.set("COMPARE"), { code: "CONFLICT", message: /meanwhile/ });
  assert.equal(await world.modeOf("plays"), "SHADOW");
});

test("evidence moves namespaces on by itself, step by step", async () => {
  const world = await World.open("plays", "songs", "still");
  await updateNamespace(world.catalog, "songs", (current) => ({
    ...current,
    readMode: { ...current.readMode, autoAdvance: false },
  }));
  for (const name of ["plays", "songs", "still"]) {
    await world.see(name, name === "still" ? { readsCompared: 9 } : {});
  }
  await world.keeper.runOnce();
  assert.deepEqual(world.moves, []);
  await world.clock.advance(60_000);
  await world.keeper.runOnce();
  await world.keeper.runOnce();
  assert.deepEqual(world.moves, ["plays: SHADOW to COMPARE"]);
  await world.see("plays");
  await world.clock.advance(60_000);
  await world.keeper.runOnce();
  assert.deepEqual(world.moves, ["plays: SHADOW to COMPARE", "plays: COMPARE to SERVE"]);
  const { state } = await world.modes.get("plays");
  assert.deepEqual([state.mode, state.by, state.round], ["SERVE", "server-1", 2]);
  assert.match(state.reason, /50 reads compared/);
  assert.deepEqual(
    [await world.modeOf("songs"), await world.modeOf("still")],
    ["SHADOW", "SHADOW"],
  );
});

test("C13: a kind of split that is served and was never compared holds the mode back, and is named", async () => {
  const world = await World.open("plays");
  await world.see("plays");
  await world.clock.advance(60_000);
  const rows = await world.routeOf("plays", "ROWS");
  const { blockedBy } = await world.modes.get("plays");
  assert.match(blockedBy, /^ROWS\/1 EVENT_BUCKETS: 0 of at least 10 reads/);
  await assert.rejects(world.set("COMPARE"), { code: "CONFLICT", message: /ROWS/ });
  await world.keeper.runOnce();
  assert.deepEqual(world.moves, []);
  // Once it is split no more nobody waits for it; that is known within a minute.
  await publishRoute(world.catalog, later(rows, { segments: [] }));
  await world.clock.advance(60_000);
  await world.keeper.runOnce();
  assert.deepEqual(world.moves, ["plays: SHADOW to COMPARE"]);
});

test("C13: in SERVE a kind that comes later is named, and served when its own evidence has passed", async () => {
  const world = await World.open("plays");
  await world.routeOf("plays", "PACKED");
  for (const to of ["COMPARE", "SERVE"]) {
    await world.see("plays");
    await world.clock.advance(60_000);
    await world.keeper.runOnce();
    assert.equal(await world.modeOf("plays"), to);
  }
  const first = (await world.modes.get("plays")).state;
  assert.deepEqual(first.kinds, ["PACKED/1 EVENT_BUCKETS"]);
  await world.routeOf("plays", "ROWS", 1);
  // What is in use is known within a minute.
  await world.clock.advance(60_000);
  assert.match((await world.modes.get("plays")).blockedBy, /^ROWS\/1 EVENT_BUCKETS is not served/);
  await world.see("plays", { layout: "ROWS" });
  await world.keeper.runOnce();
  assert.deepEqual((await world.modes.get("plays")).state, first);
  await world.clock.advance(60_000);
  // Off, it waits for a word; a word that is not forced is that.
  await world.set("SERVE", { autoAdvance: false });
  const { kinds: told, round, since } = (await world.modes.get("plays")).state;
  assert.deepEqual(told, ["PACKED/1 EVENT_BUCKETS", "ROWS/1 EVENT_BUCKETS"]);
  assert.deepEqual([round, since], [first.round, first.since]);
  assert.equal((await world.modes.get("plays")).blockedBy, "");
  assert.equal((await world.set("SERVE", { force: true })).state.kinds, null);
});

test("C13: the keeper adds a kind in the round whose evidence it saw, and in no other", async () => {
  const world = await World.open("plays");
  await updateNamespace(world.catalog, "plays", (current) => ({
    ...current,
    readMode: { ...current.readMode, mode: "SERVE", kinds: ["PACKED/1 EVENT_BUCKETS"] },
  }));
  await world.see("plays", { layout: "ROWS" });
  await world.clock.advance(60_000);
  let falling = true;
  world.catalog.before = async (call, space) => {
    if (!falling || call !== "list" || !space.startsWith("evidence/")) return;
    falling = false;
    await world.set("SERVE", { force: true });
    await updateNamespace(world.catalog, "plays", (current) => ({
      ...current,
      readMode: { ...current.readMode, kinds: [] },
    }));
  };
  await world.keeper.runOnce();
  assert.deepEqual((await world.modes.get("plays")).state.kinds, []);
  await world.see("plays", { layout: "ROWS" });
  await world.clock.advance(60_000);
  await world.keeper.runOnce();
  const { state } = await world.modes.get("plays");
  assert.deepEqual([state.kinds, state.round], [["ROWS/1 EVENT_BUCKETS"], 1]);
  assert.deepEqual(world.moves, ["plays: SERVE to SERVE"]);
});

test("C13: what is not confirmed, of another epoch or in a closed slice is not in use", async () => {
  const world = await World.open("plays");
  const { id } = await readReadyNamespace(world.catalog, "plays");
  const kinds = (): Promise<unknown> =>
    new KindsInUse(world.catalog, world.clock).of({ id, epoch: 0 });
  assert.equal(await kinds(), undefined);
  const rows = await world.routeOf("plays", "ROWS");
  assert.deepEqual(await kinds(), [
    { layout: "ROWS", layoutVersion: 1, strategy: "EVENT_BUCKETS" },
  ]);
  const packed = await world.routeOf("plays", "PACKED", 1);
  assert.deepEqual(await kinds(), [
    { layout: "ROWS", layoutVersion: 1, strategy: "EVENT_BUCKETS" },
    { layout: "PACKED", layoutVersion: 1, strategy: "EVENT_BUCKETS" },
  ]);
  const segments = packed.segments.map((segment) => ({ ...segment, confirmedAt: null }));
  await publishRoute(world.catalog, later(packed, { segments }));
  assert.deepEqual(await kinds(), [
    { layout: "ROWS", layoutVersion: 1, strategy: "EVENT_BUCKETS" },
  ]);
  await publishRoute(world.catalog, later(rows, { epoch: 1 }));
  assert.equal(await kinds(), undefined);
  await publishRoute(world.catalog, later(rows, {}, 2));
  const slice = await readSlice(world.catalog, id, rows.partition.slice);
  assert.ok(slice !== undefined);
  await writeSlice(world.catalog, id, { ...slice, state: "CLOSED" });
  assert.equal(await kinds(), undefined);
});

test("C14: no mode goes on while a server says that a difference is not settled, unless it is forced", async () => {
  const world = await World.open("plays");
  await world.see("plays");
  await world.clock.advance(60_000);
  await world.see("plays", { unsettledAt: world.clock.nowMicros() });
  await world.clock.advance(UNSETTLED_FOR_MS - 1);
  await world.keeper.runOnce();
  assert.deepEqual(world.moves, []);
  assert.match((await world.modes.get("plays")).blockedBy, /a difference was not settled/);
  await assert.rejects(world.set("COMPARE"), { code: "CONFLICT", message: /not settled/ });
  await world.clock.advance(1);
  await world.keeper.runOnce();
  assert.deepEqual(world.moves, ["plays: SHADOW to COMPARE"]);
  await world.see("plays", { unsettledAt: world.clock.nowMicros() });
  assert.equal((await world.set("SERVE", { force: true })).state.mode, "SERVE");
});

test("a round that was over when it was to be moved on is left alone", async () => {
  const world = await World.open("plays");
  await world.see("plays");
  await world.clock.advance(60_000);
  let falling = true;
  world.catalog.before = async (call, space) => {
    if (!falling || call !== "list" || !space.startsWith("evidence/")) return;
    falling = false;
    await fallBack(world.catalog, world.clock, "plays", "different bytes", "server-2");
  };
  await world.keeper.runOnce();
  assert.deepEqual(world.moves, []);
  const { state } = await world.modes.get("plays");
  assert.deepEqual([state.mode, state.reason], ["SHADOW", "different bytes"]);
});

test("a namespace that cannot be looked at does not keep the others", async () => {
  const world = await World.open("bad", "plays");
  await world.see("plays");
  const { id } = await readReadyNamespace(world.catalog, "bad");
  await world.clock.advance(60_000);
  world.catalog.before = (_, space) => {
    if (space === `evidence/${id}`) throw new Error("away");
  };
  await world.keeper.runOnce();
  assert.deepEqual([world.failed, world.moves], [["bad"], ["plays: SHADOW to COMPARE"]]);
});

test("a fall-back clears the evidence and leaves OFF alone", async () => {
  const world = await World.open("plays");
  await world.set("SERVE", { force: true });
  await world.see("plays");
  assert.equal(await fallBack(world.catalog, world.clock, "plays", "why", "server-1"), true);
  const fallen = await world.modes.get("plays");
  assert.deepEqual(
    [fallen.state.mode, fallen.state.reason, fallen.state.round],
    ["SHADOW", "why", 2],
  );
  assert.deepEqual(fallen.evidence, []);
  await world.clock.advance(60_000);
  await world.keeper.runOnce();
  assert.equal(await world.modeOf("plays"), "SHADOW");
  await world.set("OFF");
  assert.equal(await fallBack(world.catalog, world.clock, "plays", "why", "server-1"), false);
  assert.equal(await world.modeOf("plays"), "OFF");
});

test("the keeper goes round until it is told to stop", async () => {
  const world = await World.open("plays");
  await world.see("plays");
  const stop = new AbortController();
  const running = world.keeper.run(stop.signal);
  await world.clock.advance(80_000);
  assert.deepEqual(world.moves, ["plays: SHADOW to COMPARE"]);
  stop.abort();
  await running;
});

test("the kill switch is set with who and why", async () => {
  const world = await World.open();
  assert.deepEqual(await world.modes.killSwitch(), { on: false, at: 0, by: "", reason: "" });
  const set = await world.modes.setKillSwitch(true, WISH);
  assert.deepEqual(set, { on: true, at: world.clock.nowMicros(), ...WISH });
  assert.deepEqual(await world.modes.killSwitch(), set);
  assert.deepEqual(world.changed, ["kill switch"]);
});
