import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { beforeEach, test } from "node:test";
import {
  BUCKET,
  EVENTS,
  everySecond,
  ids,
  idsOf,
  OnePartition,
  location,
  SECOND,
  START,
} from "../../../tests/property/one-partition.ts";
import { MARGINS, ServedReads } from "../../../tests/property/served-reads.ts";
import { ServiceError } from "../../lib/errors.ts";
import { readEvidence } from "../../records/evidence-records.ts";
import { readRoute } from "../../records/route-records.ts";
import { readSplit } from "../../records/split-records.ts";
import type { ViewSource } from "../../model/namespace.ts";
import type { StoredBlock } from "../../ports/event-store.ts";
import { reopened } from "../../../tests/support/reopened.ts";

const never = new AbortController().signal;
const EMPTY = new Uint8Array();
const NO_VIEWS: ViewSource = {
  current: () => undefined,
  get: () => Promise.reject(new ServiceError("STORAGE_UNAVAILABLE", "down")),
};

let fixture: OnePartition;

beforeEach(async () => {
  fixture = await OnePartition.open();
});

test("CO5, X2, S9: if a route cannot be read, the original is read", async () => {
  await fixture.split({});
  await fixture.filled();
  fixture.serving.changed(location);
  fixture.catalog.before = (_, space) => {
    if (space.startsWith("routes/")) throw new ServiceError("STORAGE_UNAVAILABLE", "down");
  };
  deepEqual(idsOf(await fixture.read({})), ids(100));
  equal(fixture.count("fallback route"), 1);
});

test("K7, S15: reads of a split while namespace or kill switch cannot be read are counted", async () => {
  await fixture.split({});
  await fixture.proven();
  fixture.told.clear();
  fixture.switchStale = true;
  await fixture.serving.opener.explain(fixture.view, location);
  equal(fixture.count("fallback stale"), 0, "an explanation is no read");
  deepEqual(idsOf(await fixture.read({})), ids(100));
  equal(fixture.count("fallback stale"), 1);
  await fixture.read({ seriesId: "not split" });
  equal(fixture.count("fallback stale"), 1);
  // The page's view is cached, but too old to follow a split.
  fixture.switchStale = false;
  const stale = new ServedReads(fixture.view, fixture, { serving: { views: NO_VIEWS } });
  await stale.loaded([location]);
  deepEqual(idsOf(await stale.reader.readPage(fixture.query({}), never)), ids(100));
  equal(stale.count("fallback stale"), 1);
  await stale.close();
});

test("S7: if the record of a part is missing, the original is read, and the split is copied again", async () => {
  await fixture.split({ cuts: [START + 50 * SECOND] });
  await fixture.proven();
  const [space, record] = fixture.catalog
    .dump()
    .filter((name) => name.startsWith("parts/"))
    .flatMap((name) => {
      const parted = name.slice(0, name.lastIndexOf("/"));
      return fixture.catalog.peek(parted).map((each) => [parted, each] as const);
    })[0] ?? ["", undefined];
  ok(record !== undefined);
  await fixture.catalog.remove(space, record.key, record.version);
  const fresh = new ServedReads(fixture.view, fixture);
  await fresh.loaded([location]);
  deepEqual(idsOf(await fresh.reader.readPage(fixture.query({}), never)), ids(100));
  await fresh.quiet();
  equal(fresh.count("compared INTEGRITY_ERROR"), 1);
  equal(fresh.count("difference UNREADABLE"), 1);
  equal((await readSplit(fixture.catalog, location))?.state, "DETECTED");
  await fresh.close();
});

for (const layout of ["PACKED", "ROWS"] as const) {
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    test(`R14, X3, S10: if the storage of a split fails, the original is read (${layout}, ${order})`, async () => {
      await fixture.split({ layout, cuts: everySecond(20) });
      await fixture.proven();
      let calls = 0;
      fixture.store.before = (call, slice) => {
        const mine = slice.slice.startsWith("wide_") && call.startsWith("scan");
        if (mine && ++calls > 3) throw new ServiceError("STORAGE_UNAVAILABLE", "down");
      };
      const page = await fixture.read({ pageSize: 1_000, order });
      const expected = order === "NEWEST_FIRST" ? ids(EVENTS) : ids(EVENTS).toReversed();
      deepEqual(idsOf(page), expected);
      equal(fixture.count("fallback storage"), 1);
    });
  }
}

test("X4, S4, C9: if a block is missing, the original is read, and the split is copied again", async () => {
  await fixture.split({ cuts: everySecond(60) });
  await fixture.proven();
  // Every third block is lost.
  let nth = 0;
  fixture.onBlocks((blocks) => blocks.filter(() => ++nth % 3 !== 2));
  const page = await fixture.read({ pageSize: 1_000 });
  deepEqual(idsOf(page), ids(EVENTS));
  equal(fixture.count("fallback integrity"), 1);
  await fixture.quiet();
  equal(fixture.count("difference UNREADABLE"), 1);
  equal((await readSplit(fixture.catalog, location))?.state, "DETECTED");
  deepEqual((await readRoute(fixture.catalog, location))?.segments, []);
  deepEqual(fixture.fallBacks, []);
});

/** Reads in both orders are right whatever happens to the blocks, and the split is removed. */
async function assertIntegrityError(
  change: (blocks: readonly StoredBlock[]) => StoredBlock[],
): Promise<void> {
  await fixture.split({ cuts: everySecond(100) });
  await fixture.proven();
  fixture.onBlocks(change);
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    const expected = order === "NEWEST_FIRST" ? ids(EVENTS) : ids(EVENTS).toReversed();
    deepEqual(idsOf(await fixture.read({ pageSize: 1_000, order })), expected);
  }
  ok(fixture.count("fallback integrity") > 0);
  await fixture.quiet();
  equal(fixture.count("difference UNREADABLE"), 1);
  equal((await readSplit(fixture.catalog, location))?.state, "DETECTED");
  deepEqual(fixture.fallBacks, []);
}

test("S5: if a block is damaged, the original is read, and the split is copied again", () =>
  assertIntegrityError((blocks) =>
    blocks.map(({ key, bytes }) => {
      const damaged = Uint8Array.from(bytes);
      const last = damaged.length - 1;
      damaged[last] = (damaged[last] ?? 0) ^ 1;
      return { key, bytes: damaged };
    }),
  ));

test("S6: if a sound block is in the place of another, the original is read, and the split is copied again", () =>
  assertIntegrityError((blocks) =>
    blocks.map(({ key }, nth) => ({ key, bytes: blocks[nth === 0 ? 1 : 0]?.bytes ?? EMPTY })),
  ));

test("C9: if a part returns an event twice, or outside of the requested range, the original is read", async () => {
  for (const wrong of [{ after: undefined }, { from: START }]) {
    const other = await OnePartition.open();
    await other.split({ layout: "ROWS" });
    await other.proven();
    const scan = other.store.scan.bind(other.store);
    other.store.scan = (partition, range, signal) =>
      scan(partition, partition.slice === location.slice ? range : { ...range, ...wrong }, signal);
    const start = START + 20 * SECOND;
    const page = await other.read({ start, pageSize: 1_000 });
    deepEqual(idsOf(page), ids(EVENTS - 20));
    equal(other.count("fallback integrity"), 1, JSON.stringify(wrong));
  }
});

test("X4: if returned events turn out wrong at the end, the read fails, and a repeat is right", async () => {
  await fixture.split({ layout: "ROWS" });
  await fixture.proven();
  fixture.hideEvent(START + 100 * SECOND, "SPLIT");
  const whole = { pageSize: 1_000, order: "OLDEST_FIRST" as const };
  await rejects(fixture.read(whole), (error) => {
    return error instanceof ServiceError && error.code === "CONFLICT";
  });
  deepEqual(idsOf(await fixture.read(whole)), ids(EVENTS).toReversed());
});

test("a stream whose returned events turn out wrong ends with a code after which no caller continues", async () => {
  await fixture.split({ layout: "ROWS" });
  await fixture.proven();
  fixture.hideEvent(START + 100 * SECOND, "SPLIT");
  const query = fixture.query({ pageSize: 20, order: "OLDEST_FIRST" });
  const seen: string[] = [];
  await rejects(
    async () => {
      for await (const page of fixture.reader.stream(query, never)) seen.push(...idsOf(page));
    },
    { code: "CONFLICT", message: /without a page token/ },
  );
  ok(seen.length > 100 && !seen.includes("100"), "a page that lacks an event was handed on");
  seen.length = 0;
  for await (const page of fixture.reader.stream(query, never)) seen.push(...idsOf(page));
  deepEqual(seen, ids(EVENTS).toReversed());
});

const FALLEN: readonly (readonly [string, string, () => Promise<unknown>])[] = [
  ["unconfirmed", "ORIGINAL_HELD", () => fixture.split({ confirmed: false })],
  [
    "of time that was opened again",
    "ORIGINAL_FALLBACK",
    async () => {
      await fixture.split({});
      fixture.view = { ...fixture.view, namespace: reopened(fixture.view.namespace) };
    },
  ],
  [
    "there while the kill switch cannot be asked for",
    "ORIGINAL_FALLBACK",
    async () => {
      await fixture.split({});
      await fixture.proven();
      fixture.switchStale = true;
    },
  ],
  ["never compared here", "ORIGINAL_HELD", () => fixture.split({})],
];

for (const [what, route, prepare] of FALLEN) {
  test(`a read of a split that is ${what} is shown as ${route}, before and after it was read`, async () => {
    await prepare();
    await fixture.filled();
    if (what === "unconfirmed") {
      await fixture.read({ pageSize: 1_000 });
      await fixture.quiet();
    }
    equal((await fixture.serving.opener.explain(fixture.view, location)).route, route);
    // A whole read would compare the split, and with that change the answer.
    const source = fixture.serving.opener.open(
      fixture.view,
      location,
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

test("a source says what it has read so far, not what it planned to read", async () => {
  await fixture.split({ to: START + 100 * SECOND });
  await fixture.proven();
  const range = { from: START, to: START + 200 * SECOND, after: undefined };
  const run = { runBytesMax: 1 << 16, runEventsMax: 10 };
  const opener = fixture.serving.opener;
  const first = { OLDEST_FIRST: "SPLIT", NEWEST_FIRST: "ORIGINAL_NOT_SPLIT" } as const;
  for (const order of ["OLDEST_FIRST", "NEWEST_FIRST"] as const) {
    const source = opener.open(fixture.view, location, { ...range, ...run, order }, never);
    ok((await source.next()) !== undefined);
    equal(source.route.route, first[order], order);
    while ((await source.next()) !== undefined);
    deepEqual([source.route.route, source.route.parts], ["SPLIT_AND_ORIGINAL", 1], order);
    await source.close();
  }
});

test("an explanation says why a split is held back also while the filter is being filled", async () => {
  await fixture.split({});
  fixture.setMode("SHADOW");
  const { route, parts } = await fixture.serving.opener.explain(fixture.view, location);
  deepEqual([route, parts], ["ORIGINAL_HELD", 0]);
});

test("X1, C23: a route whose answer took too long is not used in the middle of a stream", async () => {
  await fixture.split({ cuts: everySecond(20) });
  await fixture.proven();
  const { viewMaxAge } = MARGINS;
  fixture.catalog.before = async (_, space) => {
    // The answer from before the roll-back arrives too late.
    if (space.startsWith("routes/")) await fixture.clock.sleep(viewMaxAge.ms + 1, never);
  };
  const range = {
    from: START,
    to: START + BUCKET,
    order: "NEWEST_FIRST",
    after: undefined,
  } as const;
  const run = { runEventsMax: 20, runBytesMax: 8_000 };
  const source = fixture.serving.opener.open(fixture.view, location, { ...range, ...run }, never);
  ok((await source.next()) !== undefined);
  equal(source.route.route, "SPLIT");
  fixture.serving.changed(location);
  const next = source.next();
  await fixture.clock.advance(viewMaxAge.ms + 2);
  ok((await next) !== undefined);
  equal(source.route.route, "ORIGINAL_FALLBACK");
  await source.close();
});

test("C13: a comparison counts for the round of the read mode under which its read began", async () => {
  await fixture.split({});
  fixture.setMode("COMPARE");
  await fixture.filled();
  const range = {
    from: START,
    to: START + BUCKET,
    order: "NEWEST_FIRST",
    after: undefined,
  } as const;
  const run = { runEventsMax: 1_000, runBytesMax: 1 << 20 };
  const { namespace } = fixture.view;
  const { round } = namespace.readMode;
  const source = fixture.serving.opener.open(fixture.view, location, { ...range, ...run }, never);
  ok((await source.next()) !== undefined);
  const readMode = { ...namespace.readMode, round: round + 1 };
  fixture.view = { ...fixture.view, namespace: { ...namespace, readMode } };
  while ((await source.next()) !== undefined);
  await source.close();
  await fixture.quiet();
  equal(fixture.count("compared MATCH"), 1);
  await fixture.clock.advance(10_000);
  const evidence = await readEvidence(fixture.catalog, location.namespaceId);
  deepEqual(
    evidence.map((each) => each.round),
    [round],
  );
});
