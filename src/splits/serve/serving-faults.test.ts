/**
 * What can fail while splits are served and compared, besides what they hold: see
 * `docs/specs/faults.md`.
 */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { beforeEach, test } from "node:test";
import {
  BUCKET,
  EVENTS,
  everySecond,
  ids,
  idsOf,
  location,
  OnePartition,
  SECOND,
  START,
} from "../../../tests/property/one-partition.ts";
import { ServedReads } from "../../../tests/property/served-reads.ts";
import { ServiceError } from "../../lib/errors.ts";
import { READ_MODES } from "../../model/read-mode.ts";
import { readRoute } from "../../records/route-records.ts";
import { keyOf, spaceOf } from "../../records/split-spaces.ts";

const never = new AbortController().signal;

let fixture: OnePartition;

beforeEach(async () => {
  fixture = await OnePartition.open();
});

test("DE10: what a comparison reads is not counted as read by a caller", async () => {
  await fixture.split({ to: START + 150 * SECOND });
  await fixture.proven();
  const seen = async (mode: "OFF" | "SERVE" | "COMPARE") => {
    fixture.setMode(mode);
    fixture.reads.length = 0;
    await fixture.read({ pageSize: 1_000 });
    await fixture.quiet();
    return fixture.reads.map(({ partition, events }) => [partition.timeBucket, events]);
  };
  // Every read is compared: in SERVE the comparison reads 150 events of the original.
  fixture.fraction = 0;
  const served = await seen("SERVE");
  equal(fixture.count("compared MATCH"), 1);
  deepEqual(served, [
    [1, 0],
    [0, 50],
  ]);
  deepEqual(await seen("COMPARE"), served);
  equal(fixture.count("compared MATCH"), 2);
});

test("X8: pages of servers in different read modes continue one another without gap or repeat", async () => {
  await fixture.split({ to: START + 150 * SECOND, cuts: everySecond(20) });
  await fixture.proven();
  const other = new ServedReads(fixture.view, fixture);
  await other.loaded([location]);
  await other.reader.readPage(fixture.query({ pageSize: 1_000 }), never);
  await other.quiet();
  fixture.fraction = 0;
  for (const mode of READ_MODES) {
    for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
      other.setMode(mode);
      const seen: string[] = [];
      const fromSplits = [0, 0];
      let pageToken = "";
      for (let page = 0; page === 0 || pageToken !== ""; page++) {
        const { reader } = page % 2 === 0 ? fixture : other;
        const query = fixture.query({ order, pageSize: 13, pageToken });
        const answer = await reader.readPage(query, never);
        seen.push(...idsOf(answer));
        fromSplits[page % 2] = (fromSplits[page % 2] ?? 0) + answer.context.splitPartitionsRead;
        pageToken = answer.nextPageToken;
      }
      deepEqual(seen, order === "NEWEST_FIRST" ? ids(EVENTS) : ids(EVENTS).toReversed(), mode);
      ok((fromSplits[0] ?? 0) > 0);
      equal((fromSplits[1] ?? 0) > 0, mode === "SERVE", mode);
    }
  }
  await other.close();
});

test("X6: a comparison that fails changes no answer, and is neither a match nor a difference", async () => {
  await fixture.split({});
  fixture.setMode("COMPARE");
  await fixture.filled();
  fixture.store.before = (_, { slice }) => {
    if (slice.startsWith("wide_")) throw new ServiceError("STORAGE_UNAVAILABLE", "down");
  };
  deepEqual(idsOf(await fixture.read({ pageSize: 1_000 })), ids(EVENTS));
  await fixture.quiet();
  equal(fixture.count("compared FAILED"), 1);
  equal(fixture.count("compared MATCH") + fixture.count("compared DIFFER"), 0);
  deepEqual(fixture.fallBacks, []);
});

test("X6, X15: comparisons of callers that have left are few at a time, and end when the server stops", async () => {
  await fixture.split({});
  fixture.setMode("COMPARE");
  await fixture.filled();
  let running = 0;
  let most = 0;
  fixture.store.scanBlocks = async function* (_partition, _range, signal) {
    most = Math.max(most, ++running);
    await new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true });
    }).finally(() => running--);
    yield [];
  };
  for (let callers = 0; callers < 20; callers++) {
    const leaving = new AbortController();
    const stream = fixture.reader.stream(fixture.query({ pageSize: 20 }), leaving.signal);
    for await (const page of stream) {
      deepEqual(idsOf(page), ids(20));
      break;
    }
    leaving.abort(new Error("the caller left"));
    await fixture.quiet();
  }
  ok(running > 0 && most <= 2, `${running} run, ${most} at most`);
  await fixture.close();
  equal(running, 0);
});

test("X12: if both a split and its original fail, the read fails, and its repeat is exact", async () => {
  await fixture.split({ cuts: everySecond(20) });
  await fixture.proven();
  const first = await fixture.read({ pageSize: 60 });
  const token = { pageSize: 1_000, pageToken: first.nextPageToken };
  fixture.store.before = (call) => {
    if (call.startsWith("scan")) throw new ServiceError("STORAGE_UNAVAILABLE", "down");
  };
  const reading = rejects(fixture.read(token), { code: "STORAGE_UNAVAILABLE" });
  await fixture.clock.advance(60_000);
  await reading;
  equal(fixture.count("fallback storage"), 1);
  fixture.store.before = () => undefined;
  deepEqual([...idsOf(first), ...idsOf(await fixture.read(token))], ids(EVENTS));
});

test("B11: a partition that the filter takes for split costs one look at its route, and is read from its original", async () => {
  await fixture.filled();
  // As an id does whose hashes collide with those of others.
  fixture.serving.changed(location);
  let looks = 0;
  fixture.catalog.before = (_, space) => void (space.startsWith("routes/") && looks++);
  for (let reads = 0; reads < 5; reads++) {
    deepEqual(idsOf(await fixture.read({ pageSize: 1_000 })), ids(EVENTS));
  }
  equal(looks, 1);
  equal(fixture.count("filter false positive"), 5);
});

for (const [what, change] of [
  ["a format that is not known here", { format: 99 }],
  ["a layout that is not known here", { segments: [{ layout: "FOLDED" }] }],
] as const) {
  test(`P12, M7: a split whose route has ${what} is read from its original, and its route is left as it is`, async () => {
    await fixture.split({});
    await fixture.proven();
    const space = spaceOf("routes", location);
    const stored = await fixture.catalog.read(space, keyOf(location));
    ok(stored !== undefined);
    const route = JSON.parse(stored.value) as { segments: object[] };
    const segments = route.segments.map((segment, nth) => ({
      ...segment,
      ...("segments" in change ? change.segments[nth] : {}),
    }));
    const value = JSON.stringify({ ...route, ...change, segments });
    await fixture.catalog.write(space, keyOf(location), value, stored.version);
    await rejects(readRoute(fixture.catalog, location), ServiceError);
    fixture.serving.changed(location);
    deepEqual(idsOf(await fixture.read({ end: START + BUCKET, pageSize: 1_000 })), ids(EVENTS));
    await fixture.quiet();
    equal(fixture.count("fallback route"), 1);
    equal((await fixture.catalog.read(space, keyOf(location)))?.value, value);
  });
}
