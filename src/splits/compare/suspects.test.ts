import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { beforeEach, test } from "node:test";
import {
  BUCKET,
  eventOf,
  everySecond,
  ids,
  idsOf,
  OnePartition,
  place,
  SECOND,
  START,
} from "../../../tests/property/one-partition.ts";
import { moveSplit } from "../record/move-split.ts";
import { updateNamespace } from "../../records/namespace-records.ts";
import { readRoute } from "../../records/route-records.ts";
import { readSlice, writeSlice } from "../../records/slice-records.ts";
import { readSplit } from "../../records/split-records.ts";
import type { RouteSegment } from "../../model/split.ts";
import type { Position } from "../../wire/frames.ts";
import { BothSides } from "./both-sides.ts";
import { Differences } from "./differences.ts";
import type { DifferenceVerdict, ServeObserver } from "../serve/observer.ts";
import { RouteCache, textOf } from "../serve/route-cache.ts";
import { Standings } from "./standings.ts";
import { StretchSum } from "../../parts/stretch-sum.ts";

let world: OnePartition;

beforeEach(async () => {
  world = await OnePartition.open();
});

/** Sees other bytes in the original, of which the split does not know. */
async function differs(): Promise<void> {
  await world.split({ cuts: everySecond(60) });
  await world.proven();
  world.fraction = 0;
  await world.write([eventOf(100, START + 100 * SECOND, "other")]);
}

/** Runs `change` once, when the original is read again at ALL. */
function atSecondLook(change: () => Promise<unknown>): void {
  const scan = world.store.scan.bind(world.store);
  let done = false;
  world.store.scan = async function* (partition, range, signal) {
    if (range.level?.consistency === "ALL" && !done) {
      done = true;
      await change();
    }
    yield* scan(partition, range, signal);
  };
}

test("C14: a suspect stays one however long nobody can look, and is looked into as soon as somebody can", async () => {
  await differs();
  world.catalog.before = (_, space) => {
    if (space === "namespaces") throw new Error("away");
  };
  await world.read({ pageSize: 1_000 });
  await world.quiet();
  equal(world.count("compared DIFFER"), 1);
  await world.clock.advance(600_000);
  world.fraction = 0.999;
  for (let reads = 0; reads < 3; reads++) {
    equal((await world.read({ pageSize: 20 })).context.splitPartitionsRead, 0);
    await world.quiet();
  }
  ok(world.count("difference NOT_CHECKED") > 3, "it is tried again and again");
  ok(world.count("difference NOT_CHECKED") < 20, "and not without a pause");
  world.catalog.before = () => undefined;
  await world.clock.advance(61_000);
  equal(world.count("difference OTHER_BYTES"), 1);
  equal((await readSplit(world.catalog, place))?.state, "INVALIDATED");
});

test("C14: a suspect whose look failed is served again when a later look finds both sides equal", async () => {
  await world.split({ cuts: everySecond(60) });
  await world.proven();
  const blocks = world.store.scanBlocks.bind(world.store);
  let faulty = true;
  world.onBlocks((fetched) => (faulty ? [] : fetched));
  world.catalog.before = (_, space) => {
    if (space === "namespaces") throw new Error("away");
  };
  deepEqual(idsOf(await world.read({})), ids(100));
  await world.quiet();
  equal(world.count("difference NOT_CHECKED"), 1);
  faulty = false;
  world.store.scanBlocks = blocks;
  world.catalog.before = () => undefined;
  equal((await world.read({})).context.splitPartitionsRead, 0);
  await world.clock.advance(6_000);
  equal(world.count("difference VANISHED"), 1);
  // The first read after it is compared, as of a split that was never seen.
  equal((await world.read({})).context.splitPartitionsRead, 0);
  await world.quiet();
  equal((await world.read({})).context.splitPartitionsRead, 1);
});

const GROUNDS: readonly (readonly [string, () => Promise<unknown>])[] = [
  [
    "its time is opened again",
    () => updateNamespace(world.catalog, "plays", (found) => ({ ...found, epoch: 2 })),
  ],
  [
    "an epoch begins that it goes on in",
    async () => {
      await updateNamespace(world.catalog, "plays", (found) => ({ ...found, epoch: 2 }));
      const before = await readSplit(world.catalog, place);
      ok(before !== undefined);
      await moveSplit(world.catalog, world.clock, before, { ...before, epoch: 2 });
    },
  ],
  [
    "its namespace is deleted",
    () => updateNamespace(world.catalog, "plays", (found) => ({ ...found, phase: "DELETING" })),
  ],
  [
    "its namespace is made again",
    () => updateNamespace(world.catalog, "plays", (found) => ({ ...found, id: "plays-2" })),
  ],
  [
    "its slice is dropped",
    async () => {
      const slice = await readSlice(world.catalog, place.namespaceId, place.slice);
      ok(slice !== undefined);
      await writeSlice(world.catalog, place.namespaceId, { ...slice, state: "DROPPED" });
    },
  ],
  ["it is rolled back", () => world.rollBack()],
];

for (const [what, change] of GROUNDS) {
  test(`C14: what is found while ${what} is not a finding`, async () => {
    await differs();
    atSecondLook(change);
    await world.read({ pageSize: 1_000 });
    await world.quiet();
    equal(world.count("difference NOT_CHECKED"), 1);
    equal(world.count("difference OTHER_BYTES"), 0);
    deepEqual(world.fallBacks, []);
    notEqual((await readSplit(world.catalog, place))?.heldBy, "braid: differs from its original");
  });
}

test("C14: an epoch that leaves the split alone leaves the suspicion, and the next look settles it", async () => {
  await differs();
  atSecondLook(() => updateNamespace(world.catalog, "plays", (found) => ({ ...found, epoch: 2 })));
  await world.read({ pageSize: 1_000 });
  await world.quiet();
  equal(world.count("difference NOT_CHECKED"), 1);
  const before = await readSplit(world.catalog, place);
  ok(before !== undefined);
  await moveSplit(world.catalog, world.clock, before, { ...before, epoch: 2 });
  equal((await readRoute(world.catalog, place))?.epoch, 2);
  await world.clock.advance(6_000);
  equal(world.count("difference OTHER_BYTES"), 1);
  equal(world.fallBacks.length, 1);
});

interface Looking {
  readonly differences: Differences;
  readonly standings: Standings;
  readonly segment: RouteSegment;
  readonly verdicts: readonly DifferenceVerdict[];
  /** Of what was read of that time, newest first, up to a position. */
  readonly submit: (from: number, to: number, last?: Position) => void;
}

/** Looks into what a test says has differed; the first segment of the split is what it is about. */
async function looking(): Promise<Looking> {
  const verdicts: DifferenceVerdict[] = [];
  const standings = new Standings();
  const { catalog, store, clock } = world;
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
    sides: new BothSides(store, clock, (partition, segment) => routes.parts(partition, segment)),
    standings,
    observe,
    fallBack: nothing,
    differed: nothing,
    changed: nothing,
  });
  const segment = (await readRoute(catalog, place))?.segments[0];
  ok(segment !== undefined);
  const order = "NEWEST_FIRST";
  const sizes = { runBytesMax: 1 << 16, runEventsMax: 100 };
  const submit = (from: number, to: number, last?: Position): void =>
    differences.submit({
      namespace: "plays",
      partition: place,
      round: 0,
      read: {
        stretch: { from, to, segment, readFrom: "SPLIT", compare: "DIGEST" },
        segment,
        range: { from, to, order, after: undefined, ...sizes },
        last,
        sum: new StretchSum("DIGEST").taken(),
      },
    });
  return { differences, standings, segment, verdicts, submit };
}

test("C14: that some positions agree by now says nothing of others that differed", async () => {
  await world.split({ keep: (event) => event.time !== START + 150 * SECOND });
  const { differences, standings, segment, verdicts, submit } = await looking();
  submit(START, START + 100 * SECOND);
  submit(START + 100 * SECOND, START + BUCKET);
  await world.quiet();
  deepEqual(verdicts, ["VANISHED"]);
  equal(standings.of(textOf(place), segment), "SUSPECT");
  await world.clock.advance(2_000);
  deepEqual(verdicts, ["VANISHED", "ONLY_IN_ORIGINAL"]);
  equal(standings.of(textOf(place), segment), "UNSEEN");
  await differences.close();
});

test("C14: of all that differs while a look is made, nothing is forgotten for what differs after it", async () => {
  await world.split({ keep: (event) => event.time !== START + 150 * SECOND });
  const { differences, verdicts, submit } = await looking();
  submit(START, START + 50 * SECOND);
  submit(START + 100 * SECOND, START + BUCKET);
  submit(START + 50 * SECOND, START + 100 * SECOND);
  // A page that ends before the event that is missing.
  submit(START, START + BUCKET, { time: START + 190 * SECOND, id: new Uint8Array() });
  await world.quiet();
  await world.clock.advance(2_000);
  deepEqual(verdicts, ["VANISHED", "ONLY_IN_ORIGINAL"]);
  await differences.close();
});
