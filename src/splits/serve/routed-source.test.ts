import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { beforeEach, test } from "node:test";
import {
  EVENTS,
  everySecond,
  ids,
  idsOf,
  OnePartition,
  place,
  SECOND,
  START,
} from "../../../tests/property/one-partition.ts";
import { ServedReads } from "../../../tests/property/served-reads.ts";
import { ServiceError } from "../../lib/errors.ts";
import { readRoute } from "../../records/route-records.ts";
import { readSplit } from "../../records/split-records.ts";
import type { ViewSource } from "../../model/namespace.ts";
import type { StoredBlock } from "../../ports/event-store.ts";

const never = new AbortController().signal;
const EMPTY = new Uint8Array();
const NO_VIEWS: ViewSource = {
  current: () => undefined,
  get: () => Promise.reject(new ServiceError("STORAGE_UNAVAILABLE", "down")),
};

let world: OnePartition;

beforeEach(async () => {
  world = await OnePartition.open();
});

test("S9: a route that cannot be asked for means the original", async () => {
  await world.split({});
  await world.filled();
  world.serving.changed(place);
  world.catalog.before = (_, space) => {
    if (space.startsWith("routes/")) throw new ServiceError("STORAGE_UNAVAILABLE", "down");
  };
  deepEqual(idsOf(await world.read({})), ids(100));
  equal(world.count("fallback route"), 1);
});

test("S15: reads of a split while namespace or kill switch cannot be asked for are counted", async () => {
  await world.split({});
  await world.proven();
  world.told.clear();
  world.switchStale = true;
  await world.serving.door.explain(world.view, place);
  equal(world.count("fallback stale"), 0, "an explanation is no read");
  deepEqual(idsOf(await world.read({})), ids(100));
  equal(world.count("fallback stale"), 1);
  await world.read({ seriesId: "not split" });
  equal(world.count("fallback stale"), 1);
  // The page's view is at hand, but none that is young enough to follow a split by.
  world.switchStale = false;
  const stale = new ServedReads(world.view, world, { serving: { views: NO_VIEWS } });
  await stale.loaded([place]);
  deepEqual(idsOf(await stale.reader.readPage(world.query({}), never)), ids(100));
  equal(stale.count("fallback stale"), 1);
  await stale.close();
});

test("S7: a missing record of a part means the original, and the split is copied anew", async () => {
  await world.split({ cuts: [START + 50 * SECOND] });
  await world.proven();
  const [space, record] = world.catalog
    .dump()
    .filter((name) => name.startsWith("parts/"))
    .flatMap((name) => {
      const parted = name.slice(0, name.lastIndexOf("/"));
      return world.catalog.peek(parted).map((each) => [parted, each] as const);
    })[0] ?? ["", undefined];
  ok(record !== undefined);
  await world.catalog.remove(space, record.key, record.version);
  const fresh = new ServedReads(world.view, world);
  await fresh.loaded([place]);
  deepEqual(idsOf(await fresh.reader.readPage(world.query({}), never)), ids(100));
  await fresh.quiet();
  equal(fresh.count("compared DOUBT"), 1);
  equal(fresh.count("difference UNREADABLE"), 1);
  equal((await readSplit(world.catalog, place))?.state, "DETECTED");
  await fresh.close();
});

for (const layout of ["PACKED", "ROWS"] as const) {
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    test(`S10, R14: storage of a split that fails means the original (${layout}, ${order})`, async () => {
      await world.split({ layout, cuts: everySecond(20) });
      await world.proven();
      let calls = 0;
      world.store.before = (call, slice) => {
        const mine = slice.slice.startsWith("wide_") && call.startsWith("scan");
        if (mine && ++calls > 3) throw new ServiceError("STORAGE_UNAVAILABLE", "down");
      };
      const page = await world.read({ pageSize: 1_000, order });
      const expected = order === "NEWEST_FIRST" ? ids(EVENTS) : ids(EVENTS).toReversed();
      deepEqual(idsOf(page), expected);
      equal(world.count("fallback storage"), 1);
    });
  }
}

test("S4, C9: a missing block means the original, and the split is copied anew", async () => {
  await world.split({ cuts: everySecond(60) });
  await world.proven();
  // Every third block is gone for good.
  let nth = 0;
  world.onBlocks((blocks) => blocks.filter(() => ++nth % 3 !== 2));
  const page = await world.read({ pageSize: 1_000 });
  deepEqual(idsOf(page), ids(EVENTS));
  equal(world.count("fallback doubt"), 1);
  await world.quiet();
  equal(world.count("difference UNREADABLE"), 1);
  equal((await readSplit(world.catalog, place))?.state, "DETECTED");
  deepEqual((await readRoute(world.catalog, place))?.segments, []);
  deepEqual(world.fallBacks, []);
});

/** Reads in both orders are right whatever becomes of the blocks, and the split does not stay. */
async function assertDoubted(
  change: (blocks: readonly StoredBlock[]) => StoredBlock[],
): Promise<void> {
  await world.split({ cuts: everySecond(100) });
  await world.proven();
  world.onBlocks(change);
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    const expected = order === "NEWEST_FIRST" ? ids(EVENTS) : ids(EVENTS).toReversed();
    deepEqual(idsOf(await world.read({ pageSize: 1_000, order })), expected);
  }
  ok(world.count("fallback doubt") > 0);
  await world.quiet();
  equal(world.count("difference UNREADABLE"), 1);
  equal((await readSplit(world.catalog, place))?.state, "DETECTED");
  deepEqual(world.fallBacks, []);
}

test("S5: a damaged block means the original, and the split is copied anew", () =>
  assertDoubted((blocks) =>
    blocks.map(({ key, bytes }) => {
      const damaged = Uint8Array.from(bytes);
      const last = damaged.length - 1;
      damaged[last] = (damaged[last] ?? 0) ^ 1;
      return { key, bytes: damaged };
    }),
  ));

test("S6: a sound block in the place of another means the original, and the split is copied anew", () =>
  assertDoubted((blocks) =>
    blocks.map(({ key }, nth) => ({ key, bytes: blocks[nth === 0 ? 1 : 0]?.bytes ?? EMPTY })),
  ));

test("C9: what a part gives that it gave before, or that is outside of what was asked for, means the original", async () => {
  for (const wrong of [{ after: undefined }, { from: START }]) {
    const other = await OnePartition.open();
    await other.split({ layout: "ROWS" });
    await other.proven();
    const scan = other.store.scan.bind(other.store);
    other.store.scan = (partition, range, signal) =>
      scan(partition, partition.slice === place.slice ? range : { ...range, ...wrong }, signal);
    const start = START + 20 * SECOND;
    const page = await other.read({ start, pageSize: 1_000 });
    deepEqual(idsOf(page), ids(EVENTS - 20));
    equal(other.count("fallback doubt"), 1, JSON.stringify(wrong));
  }
});

test("what was handed on and turns out wrong at the end is an error, and the repeat is right", async () => {
  await world.split({ layout: "ROWS" });
  await world.proven();
  world.hideEvent(START + 100 * SECOND, "SPLIT");
  const whole = { pageSize: 1_000, order: "OLDEST_FIRST" as const };
  await rejects(world.read(whole), (error) => {
    return error instanceof ServiceError && error.code === "CONFLICT";
  });
  deepEqual(idsOf(await world.read(whole)), ids(EVENTS).toReversed());
});

test("a stream that handed on what turns out wrong ends with a code that nobody goes on after", async () => {
  await world.split({ layout: "ROWS" });
  await world.proven();
  world.hideEvent(START + 100 * SECOND, "SPLIT");
  const query = world.query({ pageSize: 20, order: "OLDEST_FIRST" });
  const seen: string[] = [];
  await rejects(
    async () => {
      for await (const page of world.reader.stream(query, never)) seen.push(...idsOf(page));
    },
    { code: "CONFLICT", message: /without a page token/ },
  );
  ok(seen.length > 100 && !seen.includes("100"), "a page that lacks an event was handed on");
  seen.length = 0;
  for await (const page of world.reader.stream(query, never)) seen.push(...idsOf(page));
  deepEqual(seen, ids(EVENTS).toReversed());
});

const FALLEN: readonly (readonly [string, string, () => Promise<unknown>])[] = [
  ["unconfirmed", "ORIGINAL_FALLBACK", () => world.split({ confirmed: false })],
  [
    "of another epoch",
    "ORIGINAL_FALLBACK",
    async () => {
      await world.split({});
      const { namespace } = world.view;
      world.view = { ...world.view, namespace: { ...namespace, epoch: 2 } };
    },
  ],
  [
    "there while the kill switch cannot be asked for",
    "ORIGINAL_FALLBACK",
    async () => {
      await world.split({});
      await world.proven();
      world.switchStale = true;
    },
  ],
  ["never compared here", "ORIGINAL_NOT_SPLIT", () => world.split({})],
];

for (const [what, route, prepare] of FALLEN) {
  test(`a read of a split that is ${what} is told as ${route}, before and after it was read`, async () => {
    await prepare();
    await world.filled();
    if (what === "unconfirmed") {
      await world.read({ pageSize: 1_000 });
      await world.quiet();
    }
    equal((await world.serving.door.explain(world.view, place)).route, route);
    world.reads.length = 0;
    await world.read({ pageSize: 1_000 });
    const source = world.serving.door.open(
      world.view,
      place,
      {
        from: START,
        to: START + 200 * SECOND,
        order: "NEWEST_FIRST",
        after: undefined,
        runBytesMax: 1 << 16,
        runEventsMax: 10,
      },
      never,
    );
    ok((await source.next()) !== undefined);
    equal(source.route.route, route);
    await source.close();
  });
}
