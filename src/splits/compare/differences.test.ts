import { deepEqual, equal, ok } from "node:assert/strict";
import { beforeEach, test } from "node:test";
import {
  BUCKET,
  eventOf,
  everySecond,
  OnePartition,
  location,
  SECOND,
  START,
} from "../../../tests/property/one-partition.ts";
import { writeDeleted } from "../../records/deleted-records.ts";
import {
  readNamespace,
  removeNamespace,
  updateNamespace,
  writeNamespace,
} from "../../records/namespace-records.ts";
import { readEvidence, UNSETTLED_EVERY_MS } from "../../records/evidence-records.ts";
import { readRoute } from "../../records/route-records.ts";
import { readSplit } from "../../records/split-records.ts";
import { Splits } from "../operate/splits.ts";

let fixture: OnePartition;

beforeEach(async () => {
  fixture = await OnePartition.open();
});

test("X5, S14, C14: an event that only the original has leads to a recopy of that split, and the namespace keeps its mode", async () => {
  await fixture.split({ to: START + 100 * SECOND });
  await fixture.split({
    from: START + 100 * SECOND,
    keep: (event) => event.time !== START + 150 * SECOND,
  });
  fixture.setMode("COMPARE");
  await fixture.filled();
  await fixture.read({ pageSize: 1_000 });
  await fixture.quiet();
  equal(fixture.count("compared DIFFER"), 1);
  equal(fixture.count("difference ONLY_IN_ORIGINAL"), 1);
  deepEqual(fixture.fallBacks, []);
  const record = await readSplit(fixture.catalog, location);
  equal(record?.state, "DETECTED");
  equal(record?.dueAt, fixture.clock.nowMicros());
  equal(record?.fence, 1);
  equal(record?.history.at(-1)?.cause, "recopy");
  // Earlier segments stay split.
  deepEqual(
    (await readRoute(fixture.catalog, location))?.segments.map(({ to }) => to),
    [START + 100 * SECOND],
  );
});

test("C23: a confirmed difference whose route could not be published is published by the next recheck", async () => {
  await fixture.split({ keep: (event) => event.time !== START + 150 * SECOND });
  fixture.setMode("COMPARE");
  await fixture.filled();
  let failures = 0;
  fixture.catalog.before = (call, space) => {
    if (call === "write" && space.startsWith("routes/") && failures++ === 0) {
      throw new Error("away");
    }
  };
  await fixture.read({ pageSize: 1_000 });
  await fixture.quiet();
  equal((await readSplit(fixture.catalog, location))?.state, "DETECTED");
  equal((await readRoute(fixture.catalog, location))?.segments.length, 1);
  await fixture.clock.advance(10_000);
  deepEqual((await readRoute(fixture.catalog, location))?.segments, []);
});

test("C14: an event that only the split has makes the namespace fall back", async () => {
  const extra = START + 100 * SECOND + 1;
  await fixture.write([eventOf(500, extra)]);
  await fixture.split({});
  fixture.hideEvent(extra, "ORIGINAL");
  fixture.setMode("COMPARE");
  await fixture.filled();
  await fixture.read({ pageSize: 1_000 });
  await fixture.quiet();
  equal(fixture.count("difference ONLY_IN_SPLIT"), 1);
  equal(fixture.fallBacks.length, 1);
  await fixture.clock.advance(4_000);
  const [evidence] = await readEvidence(fixture.catalog, "plays-1");
  ok((evidence?.bytesDiffered ?? 0) > 0);
});

test("C14: other bytes make the namespace fall back", async () => {
  await fixture.split({});
  await fixture.write([eventOf(100, START + 100 * SECOND, "other")]);
  fixture.setMode("COMPARE");
  await fixture.filled();
  await fixture.read({ pageSize: 1_000 });
  await fixture.quiet();
  equal(fixture.count("difference OTHER_BYTES"), 1);
  equal(fixture.fallBacks.length, 1);
});

test("X5, S22, C14: a split that differs is held, so that the namespace falls back for it once, and a retry copies it again", async () => {
  await fixture.split({});
  await fixture.write([eventOf(100, START + 100 * SECOND, "other")]);
  fixture.setMode("COMPARE");
  await fixture.filled();
  for (let reads = 0; reads < 3; reads++) {
    await fixture.read({ pageSize: 1_000 });
    await fixture.quiet();
  }
  equal(fixture.fallBacks.length, 1);
  const record = await readSplit(fixture.catalog, location);
  equal(record?.state, "INVALIDATED");
  equal(record?.heldBy, "braid: differs from its original");
  equal(record?.dueAt, null);
  equal(record?.fence, 1);
  equal(record?.history.at(-1)?.cause, "mismatch");
  deepEqual((await readRoute(fixture.catalog, location))?.segments, []);
  const splits = new Splits({ catalog: fixture.catalog, clock: fixture.clock });
  const { slice: timeSlice, seriesId, timeBucket, eventBucket } = location;
  const at = { namespace: "plays", timeSlice, seriesId, timeBucket, eventBucket };
  const { record: retried } = await splits.retry(at, { by: "ada", reason: "looked into" });
  equal(retried.state, "DETECTED");
  equal(retried.heldBy, null);
  equal(retried.dueAt, fixture.clock.nowMicros());
});

test("X7, C14: a difference that is gone at the recheck changes nothing", async () => {
  await fixture.split({});
  fixture.setMode("COMPARE");
  await fixture.filled();
  const scan = fixture.store.scan.bind(fixture.store);
  let scans = 0;
  fixture.store.scan = async function* (partition, range, signal) {
    // The first answer lacks an event that a replica had not received yet.
    const from = ++scans === 1 ? range.from + 50 * SECOND : range.from;
    yield* scan(partition, { ...range, from }, signal);
  };
  await fixture.read({ pageSize: 1_000, end: START + BUCKET });
  await fixture.quiet();
  equal(fixture.count("compared DIFFER"), 1);
  equal(fixture.count("difference VANISHED"), 1);
  deepEqual(fixture.fallBacks, []);
  equal((await readSplit(fixture.catalog, location))?.state, "COMPLETED");
});

test("C14: both sides are read again at ALL", async () => {
  await fixture.split({ keep: (event) => event.time !== START + 150 * SECOND });
  fixture.setMode("COMPARE");
  await fixture.filled();
  const levels: unknown[] = [];
  const scan = fixture.store.scan.bind(fixture.store);
  fixture.store.scan = (partition, range, signal) => {
    levels.push(range.level?.consistency);
    return scan(partition, range, signal);
  };
  const scanBlocks = fixture.store.scanBlocks.bind(fixture.store);
  fixture.store.scanBlocks = (partition, range, signal) => {
    levels.push(range.level?.consistency);
    return scanBlocks(partition, range, signal);
  };
  await fixture.read({ pageSize: 1_000, end: START + BUCKET });
  await fixture.quiet();
  deepEqual(levels, ["READ_YOUR_WRITES", "READ_YOUR_WRITES", "ALL", "ALL"]);
});

test("a quarantined split is not served, even while no process can recheck it", async () => {
  await fixture.split({ cuts: everySecond(60) });
  await fixture.proven();
  fixture.fraction = 0;
  fixture.catalog.before = (_, space) => {
    if (space === "namespaces") throw new Error("away");
  };
  await fixture.write([eventOf(100, START + 100 * SECOND, "other")]);
  await fixture.read({ pageSize: 1_000 });
  await fixture.quiet();
  equal(fixture.count("compared DIFFER"), 1);
  equal((await fixture.read({})).context.splitPartitionsRead, 0);
  ok(fixture.count("fallback quarantined") > 0);
});

test("C14: evidence shows an unsettled difference while it cannot be rechecked, and not afterwards", async () => {
  await fixture.split({ keep: (event) => event.time !== START + 150 * SECOND });
  fixture.setMode("COMPARE");
  await fixture.filled();
  const scan = fixture.store.scan.bind(fixture.store);
  let down = true;
  fixture.store.scan = (partition, range, signal) => {
    if (down && range.level?.consistency === "ALL") throw new Error("a replica is down");
    return scan(partition, range, signal);
  };
  const unsettledAt = async (): Promise<number> =>
    (await readEvidence(fixture.catalog, "plays-1"))[0]?.unsettledAt ?? 0;
  await fixture.read({ pageSize: 1_000, end: START + BUCKET });
  await fixture.quiet();
  // At once, because other servers may already have enough evidence.
  equal(await unsettledAt(), fixture.clock.nowMicros());
  for (let minutes = 0; minutes < 10; minutes++) {
    await fixture.clock.advance(60_000);
    ok(fixture.clock.nowMicros() - (await unsettledAt()) <= UNSETTLED_EVERY_MS * 1_000);
  }
  down = false;
  await fixture.clock.advance(61_000);
  equal(fixture.count("difference ONLY_IN_ORIGINAL"), 1);
  const last = await unsettledAt();
  await fixture.clock.advance(60_000);
  equal(await unsettledAt(), last);
});

test("C14: a difference is not settled while its recheck takes long", async () => {
  await fixture.split({ keep: (event) => event.time !== START + 150 * SECOND });
  fixture.setMode("COMPARE");
  await fixture.filled();
  const scan = fixture.store.scan.bind(fixture.store);
  fixture.store.scan = async function* (partition, range, signal) {
    if (range.level?.consistency === "ALL") await fixture.clock.sleep(300_000, signal);
    yield* scan(partition, range, signal);
  };
  await fixture.read({ pageSize: 1_000, end: START + BUCKET });
  await fixture.quiet();
  await fixture.clock.advance(200_000);
  const [evidence] = await readEvidence(fixture.catalog, "plays-1");
  ok(fixture.clock.nowMicros() - (evidence?.unsettledAt ?? 0) <= UNSETTLED_EVERY_MS * 1_000);
  equal(fixture.count("difference ONLY_IN_ORIGINAL"), 0);
});

test("a namespace that is deleted while a difference is not settled leaves no evidence behind", async () => {
  await fixture.split({ keep: (event) => event.time !== START + 150 * SECOND });
  fixture.setMode("COMPARE");
  await fixture.filled();
  await updateNamespace(fixture.catalog, "plays", (found) => ({ ...found, phase: "DELETING" }));
  await fixture.read({ pageSize: 1_000, end: START + BUCKET });
  await fixture.quiet();
  await fixture.clock.advance(10_000);
  equal(fixture.count("compared DIFFER"), 1);
  deepEqual(await readEvidence(fixture.catalog, "plays-1"), []);
});

test("C14: evidence keeps showing an unsettled difference when the namespace is restored under another name", async () => {
  await fixture.split({ keep: (event) => event.time !== START + 150 * SECOND });
  fixture.setMode("COMPARE");
  await fixture.filled();
  const scan = fixture.store.scan.bind(fixture.store);
  fixture.store.scan = (partition, range, signal) => {
    if (range.level?.consistency === "ALL") throw new Error("a replica is down");
    return scan(partition, range, signal);
  };
  await fixture.read({ pageSize: 1_000, end: START + BUCKET });
  await fixture.quiet();
  const before = await readNamespace(fixture.catalog, "plays");
  ok(before !== undefined);
  const namespace = { ...before, name: "shows", version: 0 };
  ok((await writeNamespace(fixture.catalog, namespace)) !== undefined);
  const deletion = { at: 1, inDoubt: false, by: "ann", reason: "", purge: false };
  await writeDeleted(fixture.catalog, {
    id: before.id,
    phase: "RESTORED",
    namespace,
    deletion,
    graceFrom: 1,
    size: null,
    restoredOf: 1,
    version: 0,
  });
  await removeNamespace(fixture.catalog, before);
  for (let minutes = 0; minutes < 5; minutes++) {
    await fixture.clock.advance(60_000);
    const [evidence] = await readEvidence(fixture.catalog, before.id);
    ok(fixture.clock.nowMicros() - (evidence?.unsettledAt ?? 0) <= UNSETTLED_EVERY_MS * 1_000);
  }
});
