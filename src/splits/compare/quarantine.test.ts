import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { beforeEach, test } from "node:test";
import {
  BUCKET,
  eventOf,
  everySecond,
  ids,
  idsOf,
  OnePartition,
  location,
  SECOND,
  START,
} from "../../../tests/property/one-partition.ts";
import { updateNamespace } from "../../records/namespace-records.ts";
import { readRoute } from "../../records/route-records.ts";
import { readSlice, writeSlice } from "../../records/slice-records.ts";
import { readSplit } from "../../records/split-records.ts";
import { partitionText } from "../../model/partition.ts";
import type { RouteSegment } from "../../model/split.ts";
import type { Position } from "../../wire/frames.ts";
import { ComparisonReaders } from "./comparison-readers.ts";
import { Differences } from "./differences.ts";
import type { DifferenceVerdict, ServeObserver } from "../serve/observer.ts";
import { RouteCache } from "../serve/route-cache.ts";
import { TrustStates } from "./trust-states.ts";
import { RangeSum } from "../../parts/range-sum.ts";
import { reopened } from "../../../tests/support/reopened.ts";
import { beginEpoch } from "../../namespaces/reopen.ts";

let fixture: OnePartition;

beforeEach(async () => {
  fixture = await OnePartition.open();
});

/** Writes other bytes to the original, which the split does not have. */
async function differs(): Promise<void> {
  await fixture.split({ cuts: everySecond(60) });
  await fixture.proven();
  fixture.fraction = 0;
  await fixture.write([eventOf(100, START + 100 * SECOND, "other")]);
}

/** Runs `change` once, when the original is read again at ALL. */
function atRecheck(change: () => Promise<unknown>): void {
  const scan = fixture.store.scan.bind(fixture.store);
  let done = false;
  fixture.store.scan = async function* (partition, range, signal) {
    if (range.level?.consistency === "ALL" && !done) {
      done = true;
      await change();
    }
    yield* scan(partition, range, signal);
  };
}

test("C14: a quarantined split stays so however long no process can recheck it, and is rechecked as soon as one can", async () => {
  await differs();
  fixture.catalog.before = (_, space) => {
    if (space === "namespaces") throw new Error("away");
  };
  await fixture.read({ pageSize: 1_000 });
  await fixture.quiet();
  equal(fixture.count("compared DIFFER"), 1);
  await fixture.clock.advance(600_000);
  fixture.fraction = 0.999;
  for (let reads = 0; reads < 3; reads++) {
    equal((await fixture.read({ pageSize: 20 })).context.splitPartitionsRead, 0);
    await fixture.quiet();
  }
  ok(fixture.count("difference NOT_CHECKED") > 3, "it is tried again and again");
  ok(fixture.count("difference NOT_CHECKED") < 20, "and not without a pause");
  fixture.catalog.before = () => undefined;
  await fixture.clock.advance(61_000);
  equal(fixture.count("difference OTHER_BYTES"), 1);
  equal((await readSplit(fixture.catalog, location))?.state, "INVALIDATED");
});

test("a server stops at once while a recheck cannot be made", async () => {
  await differs();
  fixture.catalog.before = (_, space) => {
    if (space === "namespaces") throw new Error("away");
  };
  await fixture.read({ pageSize: 1_000, end: START + BUCKET });
  await fixture.quiet();
  ok(fixture.count("difference NOT_CHECKED") > 0);
  await fixture.close();
});

test("C14: a quarantined split whose recheck failed is served again when a later recheck finds both sides equal", async () => {
  await fixture.split({ cuts: everySecond(60) });
  await fixture.proven();
  const blocks = fixture.store.scanBlocks.bind(fixture.store);
  let faulty = true;
  fixture.onBlocks((fetched) => (faulty ? [] : fetched));
  fixture.catalog.before = (_, space) => {
    if (space === "namespaces") throw new Error("away");
  };
  deepEqual(idsOf(await fixture.read({})), ids(100));
  await fixture.quiet();
  equal(fixture.count("difference NOT_CHECKED"), 1);
  faulty = false;
  fixture.store.scanBlocks = blocks;
  fixture.catalog.before = () => undefined;
  equal((await fixture.read({})).context.splitPartitionsRead, 0);
  await fixture.clock.advance(6_000);
  equal(fixture.count("difference VANISHED"), 1);
  // The first read afterwards is compared, as for an unseen split.
  equal((await fixture.read({})).context.splitPartitionsRead, 0);
  await fixture.quiet();
  equal((await fixture.read({})).context.splitPartitionsRead, 1);
});

const GROUNDS: readonly (readonly [string, () => Promise<unknown>])[] = [
  [
    "its time is opened again",
    () => updateNamespace(fixture.catalog, "plays", (found) => reopened(found)),
  ],
  [
    "its time is about to be opened again",
    () => updateNamespace(fixture.catalog, "plays", (found) => beginEpoch(found, 0)),
  ],
  [
    "its namespace is deleted",
    () => updateNamespace(fixture.catalog, "plays", (found) => ({ ...found, phase: "DELETING" })),
  ],
  [
    "its namespace is made again",
    () => updateNamespace(fixture.catalog, "plays", (found) => ({ ...found, id: "plays-2" })),
  ],
  [
    "its slice is dropped",
    async () => {
      const slice = await readSlice(fixture.catalog, location.namespaceId, location.slice);
      ok(slice !== undefined);
      await writeSlice(fixture.catalog, location.namespaceId, { ...slice, state: "DROPPED" });
    },
  ],
  ["it is rolled back", () => fixture.rollBack()],
];

for (const [what, change] of GROUNDS) {
  test(`X7, C14: a difference found while ${what} does not count`, async () => {
    await differs();
    atRecheck(change);
    await fixture.read({ pageSize: 1_000 });
    await fixture.quiet();
    equal(fixture.count("difference NOT_CHECKED"), 1);
    equal(fixture.count("difference OTHER_BYTES"), 0);
    deepEqual(fixture.fallBacks, []);
    notEqual(
      (await readSplit(fixture.catalog, location))?.heldBy,
      "braid: differs from its original",
    );
  });
}

test("C14: a difference found while an epoch begins that keeps the split sealed counts", async () => {
  await differs();
  const to = (await readSplit(fixture.catalog, location))?.segments.at(-1)?.to;
  atRecheck(() => updateNamespace(fixture.catalog, "plays", (found) => reopened(found, to)));
  await fixture.read({ pageSize: 1_000 });
  await fixture.quiet();
  equal(fixture.count("difference OTHER_BYTES"), 1);
  equal(fixture.fallBacks.length, 1);
});

test("C14: a copy stays quarantined until every server knows that its time was opened again", async () => {
  await differs();
  atRecheck(() => updateNamespace(fixture.catalog, "plays", (found) => beginEpoch(found, 0)));
  await fixture.read({ pageSize: 1_000 });
  await fixture.quiet();
  await fixture.clock.advance(6_000);
  equal(fixture.count("difference NOT_CHECKED"), 2);
  await updateNamespace(fixture.catalog, "plays", (found) => ({ ...found, reopening: null }));
  await fixture.clock.advance(60_000);
  equal(fixture.count("difference NOT_CHECKED"), 3);
});

interface Looking {
  readonly differences: Differences;
  readonly trustStates: TrustStates;
  readonly segment: RouteSegment;
  readonly verdicts: readonly DifferenceVerdict[];
  /** What a read of that time returned, newest first, up to a position. */
  readonly submit: (from: number, to: number, last?: Position) => void;
}

/** Rechecks a difference that the test reports, in the first segment of the split. */
async function looking(): Promise<Looking> {
  const verdicts: DifferenceVerdict[] = [];
  const trustStates = new TrustStates();
  const { catalog, store, clock } = fixture;
  const nothing = (): void => undefined;
  const routes = new RouteCache({
    catalog,
    clock,
    viewMaxAgeMs: 10_000,
    bytesMax: 1 << 20,
    observe: nothing,
    fetchTook: nothing,
    trouble: nothing,
  });
  const observe = {
    differenceChecked: (_: string, verdict: DifferenceVerdict) => void verdicts.push(verdict),
    trouble: nothing,
  } as unknown as ServeObserver;
  const differences = new Differences({
    catalog,
    clock,
    by: "server-1",
    readers: new ComparisonReaders(store, clock, (partition, segment) =>
      routes.parts(partition, segment),
    ),
    trustStates,
    observe,
    fallBack: nothing,
    differed: nothing,
    changed: nothing,
  });
  const segment = (await readRoute(catalog, location))?.segments[0];
  ok(segment !== undefined);
  const order = "NEWEST_FIRST";
  const sizes = { runBytesMax: 1 << 16, runEventsMax: 100 };
  const submit = (from: number, to: number, last?: Position): void =>
    differences.submit({
      namespace: "plays",
      partition: location,
      round: 0,
      read: {
        routeRange: { from, to, segment, readFrom: "SPLIT", compare: "DIGEST" },
        segment,
        range: { from, to, order, after: undefined, ...sizes },
        last,
        sum: new RangeSum("DIGEST").taken(),
      },
    });
  return { differences, trustStates, segment, verdicts, submit };
}

test("C14: positions that agree now do not clear others that differed", async () => {
  await fixture.split({ keep: (event) => event.time !== START + 150 * SECOND });
  const { differences, trustStates, segment, verdicts, submit } = await looking();
  submit(START, START + 100 * SECOND);
  submit(START + 100 * SECOND, START + BUCKET);
  await fixture.quiet();
  deepEqual(verdicts, ["VANISHED"]);
  equal(trustStates.of(partitionText(location), segment), "QUARANTINED");
  await fixture.clock.advance(2_000);
  deepEqual(verdicts, ["VANISHED", "ONLY_IN_ORIGINAL"]);
  equal(trustStates.of(partitionText(location), segment), "UNSEEN");
  await differences.close();
});

test("C14: differences found during a recheck are not lost to later ones", async () => {
  await fixture.split({ keep: (event) => event.time !== START + 150 * SECOND });
  const { differences, verdicts, submit } = await looking();
  submit(START, START + 50 * SECOND);
  submit(START + 100 * SECOND, START + BUCKET);
  submit(START + 50 * SECOND, START + 100 * SECOND);
  // A page that ends before the missing event.
  submit(START, START + BUCKET, { time: START + 190 * SECOND, id: new Uint8Array() });
  await fixture.quiet();
  await fixture.clock.advance(2_000);
  deepEqual(verdicts, ["VANISHED", "ONLY_IN_ORIGINAL"]);
  await differences.close();
});
