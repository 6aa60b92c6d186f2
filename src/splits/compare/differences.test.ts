import { deepEqual, equal, match, ok } from "node:assert/strict";
import { beforeEach, test } from "node:test";
import {
  BUCKET,
  eventOf,
  everySecond,
  OnePartition,
  place,
  SECOND,
  START,
} from "../../../tests/property/one-partition.ts";
import { updateNamespace } from "../../records/namespace-records.ts";
import { readEvidence, UNSETTLED_EVERY_MS } from "../record/read-modes.ts";
import { readRoute } from "../../records/route-records.ts";
import { readSplit } from "../../records/split-records.ts";
import { Splits } from "../operate/splits.ts";

let world: OnePartition;

beforeEach(async () => {
  world = await OnePartition.open();
});

test("S14, C14: an event that only the original has sends that split back, and the namespace goes on", async () => {
  await world.split({ to: START + 100 * SECOND });
  await world.split({
    from: START + 100 * SECOND,
    keep: (event) => event.time !== START + 150 * SECOND,
  });
  world.setMode("COMPARE");
  await world.filled();
  await world.read({ pageSize: 1_000 });
  await world.quiet();
  equal(world.count("compared DIFFER"), 1);
  equal(world.count("difference ONLY_IN_ORIGINAL"), 1);
  deepEqual(world.fallBacks, []);
  const record = await readSplit(world.catalog, place);
  equal(record?.state, "DETECTED");
  equal(record?.dueAt, world.clock.nowMicros());
  equal(record?.fence, 1);
  match(record?.history.at(-1)?.reason ?? "", /only in the original/);
  // What lies before it stays split.
  deepEqual(
    (await readRoute(world.catalog, place))?.segments.map(({ to }) => to),
    [START + 100 * SECOND],
  );
});

test("C14: an event that only the split has makes the namespace fall back", async () => {
  const extra = START + 100 * SECOND + 1;
  await world.write([eventOf(500, extra)]);
  await world.split({});
  world.hideEvent(extra, "ORIGINAL");
  world.setMode("COMPARE");
  await world.filled();
  await world.read({ pageSize: 1_000 });
  await world.quiet();
  equal(world.count("difference ONLY_IN_SPLIT"), 1);
  equal(world.fallBacks.length, 1);
  match(world.fallBacks[0] ?? "", /^plays: an event is only in the split/);
  await world.clock.advance(4_000);
  const [evidence] = await readEvidence(world.catalog, "plays-1");
  ok((evidence?.bytesDiffered ?? 0) > 0);
});

test("C14: other bytes make the namespace fall back", async () => {
  await world.split({});
  await world.write([eventOf(100, START + 100 * SECOND, "other")]);
  world.setMode("COMPARE");
  await world.filled();
  await world.read({ pageSize: 1_000 });
  await world.quiet();
  equal(world.count("difference OTHER_BYTES"), 1);
  match(world.fallBacks[0] ?? "", /other bytes/);
});

test("S22, C14: a split that differs is held, so that the namespace falls back for it once, and a retry copies it anew", async () => {
  await world.split({});
  await world.write([eventOf(100, START + 100 * SECOND, "other")]);
  world.setMode("COMPARE");
  await world.filled();
  for (let reads = 0; reads < 3; reads++) {
    await world.read({ pageSize: 1_000 });
    await world.quiet();
  }
  equal(world.fallBacks.length, 1);
  const record = await readSplit(world.catalog, place);
  equal(record?.state, "INVALIDATED");
  equal(record?.heldBy, "braid: differs from its original");
  equal(record?.dueAt, null);
  equal(record?.fence, 1);
  match(record?.history.at(-1)?.reason ?? "", /other bytes in the split/);
  deepEqual((await readRoute(world.catalog, place))?.segments, []);
  const splits = new Splits({ catalog: world.catalog, clock: world.clock });
  const { slice: timeSlice, seriesId, timeBucket, eventBucket } = place;
  const at = { namespace: "plays", timeSlice, seriesId, timeBucket, eventBucket };
  const { record: retried } = await splits.retry(at, { by: "ada", reason: "looked into" });
  equal(retried.state, "DETECTED");
  equal(retried.heldBy, null);
  equal(retried.dueAt, world.clock.nowMicros());
});

test("C14: a difference that is gone at the second look changes nothing", async () => {
  await world.split({});
  world.setMode("COMPARE");
  await world.filled();
  const scan = world.store.scan.bind(world.store);
  let scans = 0;
  world.store.scan = async function* (partition, range, signal) {
    // The first answer lacks what a replica had not got yet.
    const from = ++scans === 1 ? range.from + 50 * SECOND : range.from;
    yield* scan(partition, { ...range, from }, signal);
  };
  await world.read({ pageSize: 1_000, end: START + BUCKET });
  await world.quiet();
  equal(world.count("compared DIFFER"), 1);
  equal(world.count("difference VANISHED"), 1);
  deepEqual(world.fallBacks, []);
  equal((await readSplit(world.catalog, place))?.state, "COMPLETED");
});

test("C14: both sides are read again at ALL", async () => {
  await world.split({ keep: (event) => event.time !== START + 150 * SECOND });
  world.setMode("COMPARE");
  await world.filled();
  const levels: unknown[] = [];
  const scan = world.store.scan.bind(world.store);
  world.store.scan = (partition, range, signal) => {
    levels.push(range.level?.consistency);
    return scan(partition, range, signal);
  };
  const scanBlocks = world.store.scanBlocks.bind(world.store);
  world.store.scanBlocks = (partition, range, signal) => {
    levels.push(range.level?.consistency);
    return scanBlocks(partition, range, signal);
  };
  await world.read({ pageSize: 1_000, end: START + BUCKET });
  await world.quiet();
  deepEqual(levels, ["READ_YOUR_WRITES", "READ_YOUR_WRITES", "ALL", "ALL"]);
});

test("a split that is suspect is not served meanwhile, also while nobody can look into it", async () => {
  await world.split({ cuts: everySecond(60) });
  await world.proven();
  world.fraction = 0;
  world.catalog.before = (_, space) => {
    if (space === "namespaces") throw new Error("away");
  };
  await world.write([eventOf(100, START + 100 * SECOND, "other")]);
  await world.read({ pageSize: 1_000 });
  await world.quiet();
  equal(world.count("compared DIFFER"), 1);
  equal((await world.read({})).context.splitPartitionsRead, 0);
  ok(world.count("fallback suspect") > 0);
});

test("C14: while a difference cannot be looked into the evidence says so, and no longer", async () => {
  await world.split({ keep: (event) => event.time !== START + 150 * SECOND });
  world.setMode("COMPARE");
  await world.filled();
  const scan = world.store.scan.bind(world.store);
  let down = true;
  world.store.scan = (partition, range, signal) => {
    if (down && range.level?.consistency === "ALL") throw new Error("a replica is down");
    return scan(partition, range, signal);
  };
  const unsettledAt = async (): Promise<number> =>
    (await readEvidence(world.catalog, "plays-1"))[0]?.unsettledAt ?? 0;
  await world.read({ pageSize: 1_000, end: START + BUCKET });
  await world.quiet();
  // At once: others may have all the evidence they need.
  equal(await unsettledAt(), world.clock.nowMicros());
  for (let minutes = 0; minutes < 10; minutes++) {
    await world.clock.advance(60_000);
    ok(world.clock.nowMicros() - (await unsettledAt()) <= UNSETTLED_EVERY_MS * 1_000);
  }
  down = false;
  await world.clock.advance(61_000);
  equal(world.count("difference ONLY_IN_ORIGINAL"), 1);
  const last = await unsettledAt();
  await world.clock.advance(60_000);
  equal(await unsettledAt(), last);
});

test("C14: a look that takes long is not settled either", async () => {
  await world.split({ keep: (event) => event.time !== START + 150 * SECOND });
  world.setMode("COMPARE");
  await world.filled();
  const scan = world.store.scan.bind(world.store);
  world.store.scan = async function* (partition, range, signal) {
    if (range.level?.consistency === "ALL") await world.clock.sleep(300_000, signal);
    yield* scan(partition, range, signal);
  };
  await world.read({ pageSize: 1_000, end: START + BUCKET });
  await world.quiet();
  await world.clock.advance(200_000);
  const [evidence] = await readEvidence(world.catalog, "plays-1");
  ok(world.clock.nowMicros() - (evidence?.unsettledAt ?? 0) <= UNSETTLED_EVERY_MS * 1_000);
  equal(world.count("difference ONLY_IN_ORIGINAL"), 0);
});

test("a namespace that is deleted while a difference is not settled leaves no evidence behind", async () => {
  await world.split({ keep: (event) => event.time !== START + 150 * SECOND });
  world.setMode("COMPARE");
  await world.filled();
  await updateNamespace(world.catalog, "plays", (found) => ({ ...found, phase: "DELETING" }));
  await world.read({ pageSize: 1_000, end: START + BUCKET });
  await world.quiet();
  await world.clock.advance(10_000);
  equal(world.count("compared DIFFER"), 1);
  deepEqual(await readEvidence(world.catalog, "plays-1"), []);
});
