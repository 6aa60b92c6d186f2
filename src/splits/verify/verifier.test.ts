import assert from "node:assert/strict";
import { test } from "node:test";
import { addSegment } from "../../../tests/property/split-building.ts";
import type { SegmentShape } from "../../../tests/property/split-building.ts";
import { ControlFixture, HOUR, NOON } from "../../../tests/support/control-fixture.ts";
import type { MemoryStore } from "../../../tests/support/memory-store.ts";
import { gatedCatalog } from "../../../tests/support/stopped-process.ts";
import { utf8 } from "../../lib/bytes.ts";
import { ServiceError } from "../../lib/errors.ts";
import { systemRandom } from "../../lib/random.ts";
import { updateNamespace } from "../../records/namespace-records.ts";
import { readSlice, writeSlice } from "../../records/slice-records.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { VerifyProgress } from "../use-cases.ts";
import { splitTableOf } from "../../model/split.ts";
import type { Catalog } from "../../ports/catalog.ts";
import type { EventStore, StoredBlock } from "../../ports/event-store.ts";
import { encodeEvent } from "../../wire/event-record.ts";
import type { Run } from "../../wire/frames.ts";
import { Verifier } from "./verifier.ts";
import { reopened } from "../../../tests/support/reopened.ts";

const SLICE = "data_20260328";
const BUCKET = NOON - HOUR;
/** Several blocks to a part. */
const VALUE_BYTES = 3_000;

/** Wraps the storage of a comparison. */
interface Tampering {
  runs?: (partition: PartitionKey, run: Run) => Run | undefined;
  blocks?: (blocks: readonly StoredBlock[]) => readonly StoredBlock[];
}

class Fixture {
  readonly control = new ControlFixture();
  readonly catalog = this.control.catalog;
  readonly clock = this.control.clock;
  readonly store = this.control.store;
  readonly tampering: Tampering = {};
  #process = this.control.start();
  readonly #running: { stop: AbortController; run: Promise<void> }[] = [];
  namespaceId = "";

  static async open(): Promise<Fixture> {
    const fixture = new Fixture();
    const { id } = await fixture.#process.namespaces.create("plays", {});
    fixture.namespaceId = id;
    await fixture.store.createSlice(splitTableOf(fixture.partition()));
    return fixture;
  }

  partition(seriesId = "wide"): PartitionKey {
    const { namespaceId } = this;
    return { namespaceId, slice: SLICE, seriesId, timeBucket: 11, eventBucket: 0 };
  }

  async write(times: readonly number[], change: { seriesId?: string; value?: number } = {}) {
    const { seriesId = "wide", value = 1 } = change;
    const items = [{ key: utf8("k"), value: new Uint8Array(VALUE_BYTES).fill(value) }];
    const { timeBucket, eventBucket } = this.partition();
    const placed = times.map((time) => ({
      event: encodeEvent(utf8(seriesId), BUCKET + time, utf8(`e-${time}`), items),
      timeBucket,
      eventBucket,
    }));
    await this.store.append(this.partition(seriesId), placed);
  }

  split(seriesId = "wide", shape: Partial<SegmentShape> = {}, epoch = 0) {
    const whole = {
      from: BUCKET,
      to: BUCKET + HOUR,
      cuts: [BUCKET + 20, BUCKET + 40],
      hashParts: 0,
      layout: "PACKED" as const,
      confirmed: true,
    };
    return addSegment(this, this.partition(seriesId), { ...whole, ...shape }, epoch);
  }

  start(by = "one", catalog: Catalog = this.catalog): Verifier {
    const verifier = new Verifier({
      catalog,
      store: tampered(this.store, this.tampering),
      clock: this.clock,
      random: systemRandom,
      by,
    });
    const stop = new AbortController();
    this.#running.push({ stop, run: verifier.run(stop.signal) });
    return verifier;
  }

  async stop(): Promise<void> {
    for (const { stop } of this.#running) stop.abort();
    for (const { run } of this.#running.splice(0)) await run;
  }

  async ended(verifier: Verifier, id: string): Promise<VerifyProgress> {
    for (let seconds = 0; seconds < 300; seconds++) {
      await this.clock.advance(1_000);
      const progress = await verifier.get("plays", id);
      if (progress.state !== "RUNNING") return progress;
    }
    throw new Error("the comparison does not end");
  }

  /** Compares all and stops. */
  async compare(): Promise<VerifyProgress> {
    const verifier = this.start();
    const progress = await this.ended(verifier, await verifier.start("plays", {}));
    await this.stop();
    return progress;
  }
}

function tampered(store: MemoryStore, tampering: Tampering): EventStore {
  return {
    createSlice: (slice) => store.createSlice(slice),
    dropSlice: (slice) => store.dropSlice(slice),
    dropNamespace: (id) => store.dropNamespace(id),
    append: (slice, events) => store.append(slice, events),
    appendBlocks: (partition, blocks) => store.appendBlocks(partition, blocks),
    walkPartitions: (...call) => store.walkPartitions(...call),
    sliceStats: (slice) => store.sliceStats(slice),
    isEmpty: (slice) => store.isEmpty(slice),
    close: () => store.close(),
    async *scan(partition, range, signal) {
      assert.equal(range.level?.consistency, "ALL");
      for await (const run of store.scan(partition, range, signal)) {
        const given = tampering.runs === undefined ? run : tampering.runs(partition, run);
        if (given !== undefined) yield given;
      }
    },
    async *scanBlocks(partition, range, signal) {
      assert.equal(range.level?.consistency, "ALL");
      for await (const blocks of store.scanBlocks(partition, range, signal)) {
        yield tampering.blocks?.(blocks) ?? blocks;
      }
    },
  };
}

const SIXTY = Array.from({ length: 60 }, (_, time) => time);

const SHAPES: readonly (readonly [string, Partial<SegmentShape>])[] = [
  ["PACKED", {}],
  ["ROWS", { layout: "ROWS" }],
  ["HASH", { hashParts: 5 }],
  ["HASH of rows", { hashParts: 3, layout: "ROWS" }],
  ["one part", { cuts: [] }],
];

test("equal splits are found equal, whatever their layout and strategy", async () => {
  for (const [name, shape] of SHAPES) {
    const fixture = await Fixture.open();
    await fixture.write(SIXTY);
    await fixture.split("wide", shape);
    const progress = await fixture.compare();
    assert.deepEqual([progress.state, progress.reason], ["DONE", ""], name);
    assert.deepEqual([progress.differences, progress.differencesFound], [[], 0], name);
    assert.deepEqual([progress.splitsDone, progress.splitsTotal], [1, 1]);
    const { bytes } = await fixture.store.sliceStats(fixture.partition());
    assert.deepEqual([progress.eventsCompared, progress.bytesCompared], [60, bytes], name);
    assert.ok(progress.endedAt > 0);
  }
});

test("V1: every kind of difference is found, with its position", async () => {
  for (const [name, shape] of SHAPES) {
    const fixture = await Fixture.open();
    await fixture.write(SIXTY);
    await fixture.split("wide", { ...shape, keep: ({ time }) => time !== BUCKET + 30 });
    await fixture.write([45], { value: 2 });
    // Only in the copy, because the original lost it.
    fixture.tampering.runs = (partition, run) =>
      partition.slice === SLICE ? without(run, BUCKET + 10) : run;
    const { differences, differencesFound } = await fixture.compare();
    const found = differences.map(({ kind, eventTime, eventId, detail }) => [
      kind,
      eventTime - BUCKET,
      eventId,
      detail.replaceAll(/\d[\d,]*/g, "N"),
    ]);
    assert.deepEqual(
      found.toSorted((a, b) => Number(b[1]) - Number(a[1])),
      [
        ["other bytes", 45, "e-45", "N bytes in the original, N in the split, equal up to byte N"],
        ["only in original", 30, "e-30", "N bytes"],
        ["only in split", 10, "e-10", "N bytes"],
      ],
      name,
    );
    assert.equal(differencesFound, 3);
    assert.deepEqual(differences[0]?.location, {
      namespace: "plays",
      timeSlice: SLICE,
      seriesId: "wide",
      timeBucket: 11,
      eventBucket: 0,
    });
  }
});

/** The run without the event of a time. */
function without(run: Run, time: number): Run | undefined {
  const chunks = run.chunks.filter((chunk) => !Buffer.from(chunk).includes(`e-${time - BUCKET}`));
  return chunks.length === 0 ? undefined : { ...run, chunks };
}

test("V1: a block that is damaged, missing or out of place is a finding of its own", async () => {
  const table: [string, Tampering["blocks"], RegExp][] = [
    [
      "damaged",
      (blocks) =>
        blocks.map(({ key, bytes }) => ({
          key,
          bytes: bytes.map((b, i) => b ^ (i === 60 ? 1 : 0)),
        })),
      /checksum/,
    ],
    ["first missing", (blocks) => blocks.slice(1), /block 1 where 0 belongs/],
    ["last missing", (blocks) => blocks.slice(0, -1), /is listed with \d+ blocks and has \d+/],
    ["turned round", (blocks) => blocks.toReversed(), /where 0 belongs/],
    [
      "under another key",
      (blocks) => blocks.map(({ key, bytes }) => ({ key: { ...key, time: 1 }, bytes })),
      /another key/,
    ],
  ];
  for (const [name, blocks, detail] of table) {
    const fixture = await Fixture.open();
    await fixture.write(SIXTY);
    await fixture.split();
    if (blocks !== undefined) fixture.tampering.blocks = blocks;
    const { state, differences, differencesFound } = await fixture.compare();
    assert.equal(state, "DONE", name);
    assert.equal(differencesFound, 3, name);
    for (const difference of differences) {
      assert.equal(difference.kind, "damaged split", name);
      assert.match(difference.detail, detail, name);
    }
  }
});

test("an original that storage cannot vouch for is a finding too", async () => {
  const fixture = await Fixture.open();
  await fixture.write(SIXTY);
  await fixture.split();
  fixture.tampering.runs = (partition, run) => {
    if (partition.slice === SLICE) throw new ServiceError("DATA_LOSS", "a bad sector");
    return run;
  };
  const { state, differences } = await fixture.compare();
  assert.equal(state, "DONE");
  assert.deepEqual(
    differences.map(({ kind, detail }) => [kind, detail]),
    [40, 20, 0].map(() => ["damaged original", "a bad sector"]),
  );
});

test("a part that the catalog has lost is a finding", async () => {
  const fixture = await Fixture.open();
  await fixture.write(SIXTY);
  await fixture.split();
  for (let shard = 0; shard < 16; shard++) {
    const space = `parts/${fixture.namespaceId}/${SLICE}/${shard}`;
    for (const { key, version } of fixture.catalog.peek(space).slice(1)) {
      await fixture.catalog.remove(space, key, version);
    }
  }
  const { state, differences, differencesFound } = await fixture.compare();
  assert.deepEqual([state, differencesFound], ["DONE", 1]);
  assert.equal(differences[0]?.kind, "damaged split");
});

test("of many differences the first are kept and all are counted", async () => {
  const fixture = await Fixture.open();
  const many = Array.from({ length: 250 }, (_, time) => time);
  await fixture.write(many);
  await fixture.split("wide", { keep: () => false });
  const { differences, differencesFound } = await fixture.compare();
  assert.deepEqual([differences.length, differencesFound], [100, 250]);
});

test("one partition, one slice, or all of them", async () => {
  const fixture = await Fixture.open();
  for (const seriesId of ["a", "b", "c", "d", "e", "f"]) {
    await fixture.write([1, 2, 3], { seriesId });
    await fixture.split(seriesId);
  }
  const verifier = fixture.start();
  const location = { ...fixture.partition("b"), namespace: "plays", timeSlice: SLICE };
  const one = await fixture.ended(verifier, await verifier.start("plays", { location }));
  assert.deepEqual([one.splitsDone, one.splitsTotal, one.eventsCompared], [1, 1, 3]);
  const slice = await fixture.ended(verifier, await verifier.start("plays", { timeSlice: SLICE }));
  assert.deepEqual([slice.splitsDone, slice.splitsTotal, slice.eventsCompared], [6, 6, 18]);
  const all = await fixture.ended(verifier, await verifier.start("plays", {}));
  assert.deepEqual([all.splitsDone, all.splitsTotal, all.eventsCompared], [6, 6, 18]);
  const missing = { ...location, seriesId: "z" };
  await assert.rejects(verifier.start("plays", { location: missing }), { code: "SPLIT_NOT_FOUND" });
  const gone = verifier.start("plays", { timeSlice: "data_19990101" });
  await assert.rejects(gone, { code: "TIME_SLICE_NOT_FOUND" });
  await assert.rejects(verifier.get("plays", "x"), { code: "VERIFY_NOT_FOUND" });
  await assert.rejects(verifier.start("other", {}), { code: "NAMESPACE_NOT_FOUND" });
  await fixture.stop();
});

test("a running comparison is not started twice, and an ended one can be started again", async () => {
  const fixture = await Fixture.open();
  const idle = new Verifier({
    catalog: fixture.catalog,
    store: fixture.store,
    clock: fixture.clock,
    random: systemRandom,
    by: "idle",
  });
  const first = await idle.start("plays", {});
  assert.equal(await idle.start("plays", {}), first);
  const other = await idle.start("plays", { timeSlice: SLICE });
  assert.notEqual(other, first);
  const verifier = fixture.start();
  await fixture.ended(verifier, first);
  assert.notEqual(await idle.start("plays", {}), first);
  await fixture.stop();
});

test("V5: a process that continues repeats one range at most, and counts nothing twice", async () => {
  const fixture = await Fixture.open();
  await fixture.write(SIXTY);
  await fixture.split();
  const stopped = fixture.start();
  const id = await stopped.start("plays", {});
  let scans = 0;
  fixture.store.before = (call) => {
    // Stopped in the middle of the second of three parts.
    if (call === "scanBlocks" && ++scans === 2) void fixture.stop();
  };
  await fixture.clock.advance(0);
  await fixture.stop();
  const between = await stopped.get("plays", id);
  assert.deepEqual([between.state, between.eventsCompared], ["RUNNING", 20]);
  scans = 0;
  fixture.store.before = (call) => void (scans += call === "scanBlocks" ? 1 : 0);
  const next = fixture.start("two");
  const progress = await fixture.ended(next, id);
  assert.deepEqual([progress.state, progress.eventsCompared], ["DONE", 60]);
  assert.deepEqual([progress.splitsDone, progress.differencesFound], [1, 0]);
  assert.equal(scans, 2);
  await fixture.stop();
});

test("a comparison whose process sleeps is taken over after a lease time, and the process does nothing when it wakes", async () => {
  const fixture = await Fixture.open();
  await fixture.write(SIXTY);
  await fixture.split();
  const awake = Promise.withResolvers<void>();
  let asleep = false;
  const gate = (): Promise<void> | undefined => (asleep ? awake.promise : undefined);
  const sleeper = fixture.start("sleeper", gatedCatalog(fixture.catalog, gate));
  fixture.store.before = (call) => {
    asleep ||= call === "scanBlocks";
  };
  const id = await sleeper.start("plays", {});
  await fixture.clock.advance(0);
  assert.ok(asleep);
  const other = fixture.start("other");
  const stored = (): { owner: { by: string } | null; fence: number } =>
    JSON.parse(fixture.catalog.peek(`verify/${fixture.namespaceId}`)[0]?.value ?? "");
  await fixture.clock.advance(9_000);
  assert.equal(stored().owner?.by, "sleeper");
  const progress = await fixture.ended(other, id);
  assert.deepEqual([progress.state, progress.eventsCompared], ["DONE", 60]);
  const ended = stored();
  assert.deepEqual([ended.owner, ended.fence], [null, 2]);
  asleep = false;
  fixture.store.before = () => undefined;
  awake.resolve();
  await fixture.clock.advance(5_000);
  assert.deepEqual(stored(), ended);
  await fixture.stop();
});

test("a short outage of storage delays a comparison, a long one fails it; started again it continues", async () => {
  const fixture = await Fixture.open();
  await fixture.write(SIXTY);
  await fixture.split();
  let failures = 2;
  fixture.store.before = (call) => {
    if (call === "scanBlocks" && failures-- > 0) {
      throw new ServiceError("STORAGE_UNAVAILABLE", "a node is down");
    }
  };
  assert.equal((await fixture.compare()).state, "DONE");
  failures = 0;
  let reads = 0;
  fixture.store.before = (call) => {
    if (call === "scanBlocks" && ++reads > 1) {
      throw new ServiceError("STORAGE_UNAVAILABLE", "a node is down");
    }
  };
  const verifier = fixture.start();
  const id = await verifier.start("plays", {});
  const failed = await fixture.ended(verifier, id);
  assert.deepEqual([failed.state, failed.reason], ["FAILED", "a node is down"]);
  assert.equal(failed.eventsCompared, 20);
  fixture.store.before = () => undefined;
  assert.equal(await verifier.start("plays", {}), id);
  const done = await fixture.ended(verifier, id);
  assert.deepEqual([done.state, done.reason, done.eventsCompared], ["DONE", "", 60]);
  await fixture.stop();
});

test("a split that serves no read is not compared, and the report says so", async () => {
  const fixture = await Fixture.open();
  await fixture.write(SIXTY);
  await fixture.split("wide", {}, 1);
  await fixture.write(SIXTY, { seriesId: "other" });
  await fixture.split("other", {}, 0);
  await updateNamespace(fixture.catalog, "plays", (now) => reopened(now));
  const progress = await fixture.compare();
  assert.deepEqual([progress.state, progress.eventsCompared], ["DONE", 60]);
  assert.match(progress.reason, /^1 split was not compared/);
});

test("a split that is removed during a comparison is not a difference", async () => {
  const goings: [string, (fixture: Fixture) => Promise<unknown>][] = [
    [
      "time is opened again",
      (fixture) => updateNamespace(fixture.catalog, "plays", (now) => reopened(now)),
    ],
    [
      "the slice is dropped",
      async (fixture) => {
        const slice = await readSlice(fixture.catalog, fixture.namespaceId, SLICE);
        assert.ok(slice);
        await writeSlice(fixture.catalog, fixture.namespaceId, { ...slice, state: "DROPPED" });
      },
    ],
  ];
  for (const [name, goAway] of goings) {
    const fixture = await Fixture.open();
    await fixture.write(SIXTY);
    await fixture.split();
    let gone = false;
    fixture.store.before = async (call) => {
      if (call !== "scanBlocks" || gone) return;
      gone = true;
      await goAway(fixture);
    };
    // The rest of the original when its table is dropped.
    fixture.tampering.runs = (partition, run) =>
      gone && partition.slice === SLICE ? undefined : run;
    fixture.tampering.blocks = () => [];
    const progress = await fixture.compare();
    assert.deepEqual([progress.state, progress.differencesFound], ["DONE", 0], name);
    assert.match(progress.reason, /not compared/, name);
  }
});

test("ended comparisons are kept, but not for ever", async () => {
  const fixture = await Fixture.open();
  const verifier = fixture.start();
  const ids: string[] = [];
  for (let nth = 0; nth < 53; nth++) {
    ids.push(await verifier.start("plays", {}));
    await fixture.ended(verifier, ids.at(-1) as string);
  }
  assert.equal(fixture.catalog.peek(`verify/${fixture.namespaceId}`).length, 50);
  await assert.rejects(verifier.get("plays", ids[0] as string), { code: "VERIFY_NOT_FOUND" });
  await verifier.get("plays", ids.at(-1) as string);
  assert.deepEqual(fixture.catalog.peek("verify-running"), []);
  await fixture.stop();
});
