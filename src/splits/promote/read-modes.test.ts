import assert from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture } from "../../../tests/support/control-fixture.ts";
import { readReadyNamespace, updateNamespace } from "../../records/namespace-records.ts";
import { moveSplit } from "../record/move-split.ts";
import { markUnsettled, UNSETTLED_FOR_MS, writeEvidence } from "../../records/evidence-records.ts";
import type { CounterEvidence } from "../../records/evidence-records.ts";
import { publishRoute } from "../../records/route-records.ts";
import { readSlice, readSlices, writeSlice } from "../../records/slice-records.ts";
import type { ReadMode } from "../../model/read-mode.ts";
import { newSplit } from "../../model/split-moves.ts";
import type { Segment, SplitRecord } from "../../model/split.ts";
import type { SplitLayout } from "../../model/layouts.ts";
import { KindsInUse } from "./kinds-in-use.ts";
import { fallBack, ReadModeReconciler } from "./read-mode-reconciler.ts";
import { ReadModes } from "./read-modes.ts";
import type { EpochStarts } from "../../model/epochs.ts";

const THRESHOLDS = { shadowReads: 10, compareReads: 50, bytes: 1_000, splits: 3, afterMs: 60_000 };
const OPERATOR_REQUEST = { by: "alice", reason: "a try" };

const plays = ({ catalog }: Fixture) => readReadyNamespace(catalog, "plays");

class Fixture {
  readonly control = new ControlFixture();
  readonly catalog = this.control.catalog;
  readonly clock = this.control.clock;
  readonly changed: string[] = [];
  readonly switched: string[] = [];
  readonly modes = new ReadModes({
    catalog: this.catalog,
    clock: this.clock,
    thresholds: THRESHOLDS,
    namespaceChanged: async (name) => void this.changed.push(name),
    killSwitchChanged: async () => void this.changed.push("kill switch"),
    observeKillSwitch: ({ by }, unchanged) =>
      void this.switched.push(`${by}: ${unchanged ? "unchanged" : "changed"}`),
  });
  readonly moves: string[] = [];
  readonly failed: string[] = [];
  readonly reconciler = new ReadModeReconciler({
    catalog: this.catalog,
    clock: this.clock,
    by: "server-1",
    thresholds: THRESHOLDS,
    observe: ({ namespace, from, to }) => void this.moves.push(`${namespace}: ${from} to ${to}`),
    onFailed: (namespace) => void this.failed.push(namespace),
  });

  static async open(...names: string[]): Promise<Fixture> {
    const fixture = new Fixture();
    const { namespaces } = fixture.control.start();
    for (const name of names) await namespaces.create(name, {});
    return fixture;
  }

  async see(name: string, change: Partial<CounterEvidence> = {}): Promise<void> {
    const { id, readMode } = await readReadyNamespace(this.catalog, name);
    await writeEvidence(this.catalog, id, {
      layout: "PACKED",
      layoutVersion: 1,
      strategy: "EVENT_BUCKETS",
      round: readMode.round,
      readsCompared: 50,
      bytesMatched: 1_000,
      bytesDiffered: 0,
      counter: "server-1.0",
      marks: [1, 2, 3],
      since: this.clock.nowMicros(),
      ...change,
    });
  }

  async markUnsettled(name: string): Promise<void> {
    const { id, readMode } = await readReadyNamespace(this.catalog, name);
    const kind = { layout: "PACKED", layoutVersion: 1, strategy: "EVENT_BUCKETS" };
    const { round } = readMode;
    await markUnsettled(this.catalog, id, { ...kind, round }, this.clock.nowMicros());
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
      epoch: 0,
      state: "COMPLETED",
      generation: 0,
      layout,
      strategy: "EVENT_BUCKETS",
      why: "",
      partBytes: 1,
      partsPlanned: 0,
      partRanges: [],
      copiedTo: slice.start,
      bytes: 1,
      events: 1,
      checksum: "",
      confirmedAt: 1,
    };
    const record = newSplit(split, { at: 0, by: "worker-1", cause: "detection", reason: "" });
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
    return this.modes.set("plays", mode, { force, autoAdvance }, OPERATOR_REQUEST);
  }
}

/** As if the mode had changed since. */
function later(record: SplitRecord, change: Partial<SplitRecord>, moves = 1): SplitRecord {
  return { ...record, ...change, version: record.version + moves };
}

test("a report shows the mode, its evidence, the next mode and what blocks it", async () => {
  const fixture = await Fixture.open("plays");
  const first = await fixture.modes.get("plays");
  assert.deepEqual([first.state.mode, first.nextMode, first.evidence], ["SHADOW", "COMPARE", []]);
  assert.match(first.blockedBy, /no split was compared yet/);
  await fixture.see("plays");
  assert.match((await fixture.modes.get("plays")).blockedBy, /0 s of at least 60 s/);
  await fixture.clock.advance(60_000);
  const passed = await fixture.modes.get("plays");
  assert.deepEqual([passed.blockedBy, passed.evidence.length], ["", 1]);
  await assert.rejects(fixture.modes.get("other"), { code: "NAMESPACE_NOT_FOUND" });
});

test("X9: a mode advances one step at a time and on evidence, or by force; it goes back at once", async () => {
  const fixture = await Fixture.open("plays");
  await assert.rejects(fixture.set("COMPARE"), {
    code: "CONFLICT",
    message: /no split was compared/,
  });
  await assert.rejects(fixture.set("SERVE"), { code: "CONFLICT", message: /one step at a time/ });
  const forced = await fixture.set("SERVE", { force: true });
  const { mode, round, by, reason, since } = forced.state;
  assert.deepEqual([mode, round, by, reason], ["SERVE", 1, "alice", "forced: a try"]);
  assert.equal(since, fixture.clock.nowMicros());
  assert.equal(forced.nextMode, undefined);
  assert.equal((await fixture.set("OFF")).state.mode, "OFF");
  assert.equal((await fixture.set("SHADOW")).state.mode, "SHADOW");
  await fixture.see("plays");
  await fixture.clock.advance(60_000);
  assert.equal((await fixture.set("COMPARE")).state.mode, "COMPARE");
  assert.equal(fixture.changed.length, 4);
});

test("a new round begins without evidence, and the same mode stays in its round unless forced", async () => {
  const fixture = await Fixture.open("plays");
  await fixture.see("plays");
  const same = await fixture.set("SHADOW", { autoAdvance: false });
  assert.deepEqual([same.state.autoAdvance, same.state.round], [false, 0]);
  assert.equal(same.evidence.length, 1);
  const forced = await fixture.set("SHADOW", { force: true });
  assert.deepEqual([forced.state.round, forced.evidence], [1, []]);
  await fixture.see("plays");
  await fixture.clock.advance(60_000);
  const waiting = await fixture.modes.get("plays");
  assert.match(waiting.blockedBy, /autoAdvance is off/);
  const next = await fixture.set("COMPARE");
  assert.deepEqual([next.state.round, next.state.autoAdvance, next.evidence], [2, false, []]);
});

test("a fall-back between check and change wins over the request to advance", async () => {
  const fixture = await Fixture.open("plays");
  await fixture.see("plays");
  await fixture.clock.advance(60_000);
  let falling = true;
  fixture.catalog.before = async (call, space) => {
    if (!falling || call !== "write" || space !== "namespaces") return;
    falling = false;
    await fallBack(
      fixture.catalog,
      fixture.clock,
      await plays(fixture),
      "different bytes",
      "server-2",
    );
  };
  await assert.rejects(fixture.set("COMPARE"), { code: "CONFLICT", message: /meanwhile/ });
  assert.equal(await fixture.modeOf("plays"), "SHADOW");
});

test("evidence advances namespaces by itself, step by step", async () => {
  const fixture = await Fixture.open("plays", "songs", "still");
  await updateNamespace(fixture.catalog, "songs", (current) => ({
    ...current,
    readMode: { ...current.readMode, autoAdvance: false },
  }));
  for (const name of ["plays", "songs", "still"]) {
    await fixture.see(name, name === "still" ? { readsCompared: 9 } : {});
  }
  await fixture.reconciler.runOnce();
  assert.deepEqual(fixture.moves, []);
  await fixture.clock.advance(60_000);
  await fixture.reconciler.runOnce();
  await fixture.reconciler.runOnce();
  assert.deepEqual(fixture.moves, ["plays: SHADOW to COMPARE"]);
  await fixture.see("plays");
  await fixture.clock.advance(60_000);
  await fixture.reconciler.runOnce();
  assert.deepEqual(fixture.moves, ["plays: SHADOW to COMPARE", "plays: COMPARE to SERVE"]);
  const { state } = await fixture.modes.get("plays");
  assert.deepEqual([state.mode, state.by, state.round], ["SERVE", "server-1", 2]);
  assert.match(state.reason, /50 reads compared/);
  assert.deepEqual(
    [await fixture.modeOf("songs"), await fixture.modeOf("still")],
    ["SHADOW", "SHADOW"],
  );
});

test("C13: a kind of split that is served and was never compared holds the mode back, and is named", async () => {
  const fixture = await Fixture.open("plays");
  await fixture.see("plays");
  await fixture.clock.advance(60_000);
  const rows = await fixture.routeOf("plays", "ROWS");
  const { blockedBy } = await fixture.modes.get("plays");
  assert.match(blockedBy, /^ROWS\/1 EVENT_BUCKETS: 0 of at least 10 reads/);
  await assert.rejects(fixture.set("COMPARE"), { code: "CONFLICT", message: /ROWS/ });
  await fixture.reconciler.runOnce();
  assert.deepEqual(fixture.moves, []);
  // When no split of the kind is left the mode does not wait for it; that is known within a minute.
  await publishRoute(fixture.catalog, later(rows, { segments: [] }));
  await fixture.clock.advance(60_000);
  await fixture.reconciler.runOnce();
  assert.deepEqual(fixture.moves, ["plays: SHADOW to COMPARE"]);
});

test("C13: in SERVE a kind that comes later is named, and served when its own evidence has passed", async () => {
  const fixture = await Fixture.open("plays");
  await fixture.routeOf("plays", "PACKED");
  for (const to of ["COMPARE", "SERVE"]) {
    await fixture.see("plays");
    await fixture.clock.advance(60_000);
    await fixture.reconciler.runOnce();
    assert.equal(await fixture.modeOf("plays"), to);
  }
  const first = (await fixture.modes.get("plays")).state;
  assert.deepEqual(first.kinds, ["PACKED/1 EVENT_BUCKETS"]);
  await fixture.routeOf("plays", "ROWS", 1);
  // What is in use is known within a minute.
  await fixture.clock.advance(60_000);
  assert.match(
    (await fixture.modes.get("plays")).blockedBy,
    /^ROWS\/1 EVENT_BUCKETS is not served/,
  );
  await fixture.see("plays", { layout: "ROWS" });
  await fixture.reconciler.runOnce();
  assert.deepEqual((await fixture.modes.get("plays")).state, first);
  await fixture.clock.advance(60_000);
  // In OFF the mode waits for a request; one without force is enough.
  await fixture.set("SERVE", { autoAdvance: false });
  const { kinds: told, round, since } = (await fixture.modes.get("plays")).state;
  assert.deepEqual(told, ["PACKED/1 EVENT_BUCKETS", "ROWS/1 EVENT_BUCKETS"]);
  assert.deepEqual([round, since], [first.round, first.since]);
  assert.equal((await fixture.modes.get("plays")).blockedBy, "");
  assert.equal((await fixture.set("SERVE", { force: true })).state.kinds, null);
});

test("C13: the reconciler adds a kind in the round whose evidence it saw, and in no other", async () => {
  const fixture = await Fixture.open("plays");
  await updateNamespace(fixture.catalog, "plays", (current) => ({
    ...current,
    readMode: { ...current.readMode, mode: "SERVE", kinds: ["PACKED/1 EVENT_BUCKETS"] },
  }));
  await fixture.see("plays", { layout: "ROWS" });
  await fixture.clock.advance(60_000);
  let falling = true;
  fixture.catalog.before = async (call, space) => {
    if (!falling || call !== "list" || !space.startsWith("evidence/")) return;
    falling = false;
    await fixture.set("SERVE", { force: true });
    await updateNamespace(fixture.catalog, "plays", (current) => ({
      ...current,
      readMode: { ...current.readMode, kinds: [] },
    }));
  };
  await fixture.reconciler.runOnce();
  assert.deepEqual((await fixture.modes.get("plays")).state.kinds, []);
  await fixture.see("plays", { layout: "ROWS" });
  await fixture.clock.advance(60_000);
  await fixture.reconciler.runOnce();
  const { state } = await fixture.modes.get("plays");
  assert.deepEqual([state.kinds, state.round], [["ROWS/1 EVENT_BUCKETS"], 1]);
  assert.deepEqual(fixture.moves, ["plays: SERVE to SERVE"]);
});

test("C13: what is not confirmed, was opened again or is in a closed slice is not in use", async () => {
  const fixture = await Fixture.open("plays");
  const { id } = await readReadyNamespace(fixture.catalog, "plays");
  const kinds = (epochStarts: EpochStarts = []): Promise<unknown> =>
    new KindsInUse(fixture.catalog, fixture.clock).of({ id, epoch: 0, epochStarts });
  assert.equal(await kinds(), undefined);
  const rows = await fixture.routeOf("plays", "ROWS");
  assert.deepEqual(await kinds(), [
    { layout: "ROWS", layoutVersion: 1, strategy: "EVENT_BUCKETS", splits: 1 },
  ]);
  const packed = await fixture.routeOf("plays", "PACKED", 1);
  assert.deepEqual(await kinds(), [
    { layout: "ROWS", layoutVersion: 1, strategy: "EVENT_BUCKETS", splits: 1 },
    { layout: "PACKED", layoutVersion: 1, strategy: "EVENT_BUCKETS", splits: 1 },
  ]);
  const segments = packed.segments.map((segment) => ({ ...segment, confirmedAt: null }));
  await publishRoute(fixture.catalog, later(packed, { segments }));
  assert.deepEqual(await kinds(), [
    { layout: "ROWS", layoutVersion: 1, strategy: "EVENT_BUCKETS", splits: 1 },
  ]);
  assert.equal(await kinds([{ epoch: 1, floor: 0 }]), undefined);
  const slice = await readSlice(fixture.catalog, id, rows.partition.slice);
  assert.ok(slice !== undefined);
  await writeSlice(fixture.catalog, id, { ...slice, state: "CLOSED" });
  assert.equal(await kinds(), undefined);
});

test("C29: one hot page among many splits does not bring a namespace to SERVE", async () => {
  const fixture = await Fixture.open("plays");
  for (let timeBucket = 0; timeBucket < 50; timeBucket++) {
    await fixture.routeOf("plays", "PACKED", timeBucket);
  }
  await fixture.see("plays", { readsCompared: 1_000_000, bytesMatched: 1e12, marks: [7] });
  await fixture.clock.advance(60_000);
  await fixture.reconciler.runOnce();
  assert.deepEqual(fixture.moves, []);
  assert.match((await fixture.modes.get("plays")).blockedBy, /1 of at least 3 splits/);
  await assert.rejects(fixture.set("COMPARE"), { code: "CONFLICT", message: /splits compared/ });
  // Reads of two others, seen by another server.
  await fixture.see("plays", { counter: "server-2.0", marks: [7, 8, 9] });
  await fixture.reconciler.runOnce();
  assert.deepEqual(fixture.moves, ["plays: SHADOW to COMPARE"]);
});

test("C29: a namespace with one wide partition advances on reads of that one", async () => {
  const fixture = await Fixture.open("plays");
  await fixture.routeOf("plays", "PACKED");
  for (const mode of ["COMPARE", "SERVE"]) {
    await fixture.see("plays", { marks: [7] });
    await fixture.clock.advance(60_000);
    await fixture.reconciler.runOnce();
    assert.equal(await fixture.modeOf("plays"), mode);
  }
});

test("C14: no mode advances while a server says that a difference is not settled, unless it is forced", async () => {
  const fixture = await Fixture.open("plays");
  await fixture.see("plays");
  await fixture.clock.advance(60_000);
  await fixture.markUnsettled("plays");
  await fixture.clock.advance(UNSETTLED_FOR_MS - 1);
  await fixture.reconciler.runOnce();
  assert.deepEqual(fixture.moves, []);
  assert.match((await fixture.modes.get("plays")).blockedBy, /a difference was not settled/);
  await assert.rejects(fixture.set("COMPARE"), { code: "CONFLICT", message: /not settled/ });
  await fixture.clock.advance(1);
  await fixture.reconciler.runOnce();
  assert.deepEqual(fixture.moves, ["plays: SHADOW to COMPARE"]);
  await fixture.markUnsettled("plays");
  assert.equal((await fixture.set("SERVE", { force: true })).state.mode, "SERVE");
});

test("a round that ended before its advance is left alone", async () => {
  const fixture = await Fixture.open("plays");
  await fixture.see("plays");
  await fixture.clock.advance(60_000);
  let falling = true;
  fixture.catalog.before = async (call, space) => {
    if (!falling || call !== "list" || !space.startsWith("evidence/")) return;
    falling = false;
    await fallBack(
      fixture.catalog,
      fixture.clock,
      await plays(fixture),
      "different bytes",
      "server-2",
    );
  };
  await fixture.reconciler.runOnce();
  assert.deepEqual(fixture.moves, []);
  const { state } = await fixture.modes.get("plays");
  assert.deepEqual([state.mode, state.reason], ["SHADOW", "different bytes"]);
});

test("a namespace that cannot be read does not delay the others", async () => {
  const fixture = await Fixture.open("bad", "plays");
  await fixture.see("plays");
  const { id } = await readReadyNamespace(fixture.catalog, "bad");
  await fixture.clock.advance(60_000);
  fixture.catalog.before = (_, space) => {
    if (space === `evidence/${id}`) throw new Error("away");
  };
  await fixture.reconciler.runOnce();
  assert.deepEqual([fixture.failed, fixture.moves], [["bad"], ["plays: SHADOW to COMPARE"]]);
});

test("a fall-back clears the evidence and leaves OFF alone", async () => {
  const fixture = await Fixture.open("plays");
  await fixture.set("SERVE", { force: true });
  await fixture.see("plays");
  assert.equal(
    await fallBack(fixture.catalog, fixture.clock, await plays(fixture), "why", "server-1"),
    true,
  );
  const fallen = await fixture.modes.get("plays");
  assert.deepEqual(
    [fallen.state.mode, fallen.state.reason, fallen.state.round],
    ["SHADOW", "why", 2],
  );
  assert.deepEqual(fallen.evidence, []);
  await fixture.clock.advance(60_000);
  await fixture.reconciler.runOnce();
  assert.equal(await fixture.modeOf("plays"), "SHADOW");
  await fixture.set("OFF");
  assert.equal(
    await fallBack(fixture.catalog, fixture.clock, await plays(fixture), "why", "server-1"),
    false,
  );
  assert.equal(await fixture.modeOf("plays"), "OFF");
});

test("a fall-back of a namespace that was deleted leaves the one with its name alone", async () => {
  const fixture = await Fixture.open("plays");
  await fixture.set("SERVE", { force: true });
  const gone = { name: "plays", id: "plays-1" };
  await assert.rejects(fallBack(fixture.catalog, fixture.clock, gone, "why", "server-1"), {
    code: "NAMESPACE_NOT_FOUND",
  });
  assert.equal(await fixture.modeOf("plays"), "SERVE");
});

test("the reconciler runs until it is stopped", async () => {
  const fixture = await Fixture.open("plays");
  await fixture.see("plays");
  const stop = new AbortController();
  const running = fixture.reconciler.run(stop.signal);
  await fixture.clock.advance(80_000);
  assert.deepEqual(fixture.moves, ["plays: SHADOW to COMPARE"]);
  stop.abort();
  await running;
});

test("the kill switch is set with operator and reason", async () => {
  const fixture = await Fixture.open("plays");
  assert.deepEqual(await fixture.modes.killSwitch(), { on: false, at: 0, by: "", reason: "" });
  const set = { on: true, at: fixture.clock.nowMicros(), ...OPERATOR_REQUEST };
  const first = await fixture.modes.setKillSwitch(true, OPERATOR_REQUEST);
  assert.deepEqual(first, { ...set, unchanged: false });
  assert.deepEqual(await fixture.modes.killSwitch(), set);
  await fixture.clock.advance(1_000);
  const second = await fixture.modes.setKillSwitch(true, { by: "bob", reason: "me too" });
  assert.deepEqual(second, { ...set, unchanged: true });
  assert.deepEqual((await fixture.modes.get("plays")).killSwitch, set);
  assert.deepEqual(fixture.changed, ["kill switch", "kill switch"]);
  assert.deepEqual(fixture.switched, ["alice: changed", "bob: unchanged"]);
});
