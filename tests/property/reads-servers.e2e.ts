/**
 * Whatever was written through any of several servers, and through whichever of them it is read,
 * page by page: the answer equals that of a plain sorted list of what was acknowledged. @needs
 * cassandra
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import type { NewEvent, ReadQuery } from "../../client/connect.ts";
import { compareBytes, utf8 } from "../../src/lib/bytes.ts";
import { formatTime } from "../../src/wire/time-text.ts";
import { Fleet } from "../cluster/several-servers-fleet.ts";
import type { Server } from "../cluster/several-servers-fleet.ts";
import { testCassandra, uniqueName } from "../support/services.ts";
import { EVENT_IDS } from "./reads.ts";

const RUNS = 25;
const SERVERS = 3;
const SECOND = 1_000_000;
const WINDOW = 120 * SECOND;

/** Slices and buckets of several widths; created once, because tables take a while. */
const NAMESPACES = [
  { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 3_600, eventBuckets: 1 },
  { secondsPerTimeSlice: 300, secondsPerTimeBucket: 20, eventBuckets: 3 },
  { secondsPerTimeSlice: 180, secondsPerTimeBucket: 10, eventBuckets: 1 },
];

let fleet: Fleet;
let servers: readonly Server[];
let namespaces: readonly string[];
/** Event times are counted from here: late, but not too late while the test runs. */
let start: number;

before(async () => {
  fleet = await Fleet.open({ cassandra: testCassandra().contactPoints, viewMaxAgeMs: 2_000 });
  const names = Array.from({ length: SERVERS }, (_, i) => `s${i}`);
  servers = await Promise.all(names.map((name) => fleet.serve(name)));
  namespaces = await Promise.all(
    NAMESPACES.map(async (timePartition, i) => {
      const { client } = serverAt(i);
      const retention = { closeAfter: "36000s", deleteAfter: "72000s" };
      const config = { timePartition, acceptLimit: "600s", retention };
      return (await client.createNamespace(`model_${i}`, config)).namespace;
    }),
  );
  start = (Math.floor(Date.now() / 1_000) - 180) * SECOND;
});

after(() => fleet[Symbol.asyncDispose]());

interface ModelEvent {
  readonly time: number;
  readonly id: string;
  readonly device: string;
}

/** Often the same microsecond, or at or next to an edge of a bucket. */
const offset = fc.oneof(
  fc.nat({ max: WINDOW }),
  fc.constantFrom(0, 7 * SECOND, 20 * SECOND),
  fc.tuple(fc.nat({ max: 11 }), fc.constantFrom(0, 1, 2)).map(([n, d]) => n * 10 * SECOND + d),
);
const server = fc.nat({ max: SERVERS - 1 });
const device = fc.constantFrom("ios", "tv", "");

const writing = fc.record({
  kind: fc.constant("write" as const),
  server,
  events: fc.array(fc.record({ offset, id: fc.constantFrom(...EVENT_IDS), device }), {
    maxLength: 40,
  }),
});

const reading = fc.record({
  kind: fc.constant("read" as const),
  /** Of each page in order. */
  servers: fc.array(server, { minLength: 1, maxLength: 4 }),
  from: offset,
  length: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: WINDOW })),
  order: fc.constantFrom("NEWEST_FIRST" as const, "OLDEST_FIRST" as const),
  pageSize: fc.integer({ min: 1, max: 12 }),
  totalRecordLimit: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 30 })),
  filter: fc.constantFrom(undefined, "ios", "tv", "", "none"),
});

type Reading = typeof reading extends fc.Arbitrary<infer T> ? T : never;

const world = fc.record({
  namespace: fc.nat({ max: NAMESPACES.length - 1 }),
  steps: fc.array(fc.oneof(writing, reading), { minLength: 2, maxLength: 8 }),
});

test("R19, R12: reads through any servers, each page through another, equal the model", async () => {
  await fc.assert(
    fc.asyncProperty(world, async ({ namespace, steps }) => {
      const name = namespaces[namespace] as string;
      // Worlds share the namespaces and nothing else.
      const series = uniqueName("world");
      const model = new Map<string, ModelEvent>();
      for (const step of steps) {
        if (step.kind === "read")
          deepEqual(await readAll(name, series, step), answerOf(model, step));
        else {
          // The engines decide between the same identity with different bytes (rule C21): here the
          // first one is used.
          const events = step.events
            .map(({ offset: at, ...rest }) => ({ ...rest, time: start + at }))
            .filter((e) => !model.has(keyOf(e)) && model.set(keyOf(e), e));
          await writeAll(name, series, step.server, events);
        }
      }
    }),
    { numRuns: RUNS },
  );
});

/** A write with an unknown outcome is repeated, through the next server, until it succeeds. */
async function writeAll(
  namespace: string,
  series: string,
  through: number,
  events: readonly ModelEvent[],
): Promise<void> {
  let left = events.map((event) => newEvent(series, event));
  for (let attempt = 0; left.length > 0; attempt++) {
    ok(attempt < 10, "writing ends");
    const sent = left;
    const { written, failures } = await serverAt(through + attempt).client.writeSync(
      namespace,
      sent,
      { failures: "return" },
    );
    equal(written + failures.length, sent.length);
    for (const { code, message } of failures) equal(code, "OUTCOME_UNKNOWN", message);
    left = failures.map(({ index }) => sent[index] as NewEvent);
  }
}

async function readAll(namespace: string, series: string, step: Reading): Promise<unknown[]> {
  const query: ReadQuery = {
    timeSeriesId: series,
    start: formatTime(start + step.from),
    end: formatTime(start + step.from + step.length),
    order: step.order,
    pageSize: step.pageSize,
    totalRecordLimit: step.totalRecordLimit,
    ...(step.filter !== undefined && { filters: { device: step.filter } }),
  };
  const found: unknown[] = [];
  let pageToken = "";
  for (let pages = 0; ; pages++) {
    ok(pages < 1_000, "reading ends");
    const { client } = serverAt(step.servers[pages % step.servers.length] as number);
    for await (const page of client.read(namespace, { ...query, pageToken }).pages()) {
      ok(page.events.length <= step.pageSize, "a page is bounded in events");
      for (const event of page.events) {
        found.push([event.timeMicros, event.eventId, event.items[0]?.text]);
      }
      pageToken = page.nextPageToken;
      break;
    }
    if (pageToken === "") return found;
  }
}

function answerOf(model: ReadonlyMap<string, ModelEvent>, step: Reading): unknown[] {
  const from = start + step.from;
  const matching = [...model.values()]
    .filter(({ time }) => time >= from && time < from + step.length)
    .filter((e) => step.filter === undefined || e.device === step.filter)
    .toSorted((a, b) => a.time - b.time || compareBytes(utf8(a.id), utf8(b.id)));
  if (step.order === "NEWEST_FIRST") matching.reverse();
  const limit = step.totalRecordLimit === 0 ? matching.length : step.totalRecordLimit;
  return matching.slice(0, limit).map((e) => [e.time, e.id, e.device]);
}

function newEvent(timeSeriesId: string, { time, id, device: value }: ModelEvent): NewEvent {
  return { timeSeriesId, eventTime: formatTime(time), eventId: id, items: { device: value } };
}

function keyOf({ time, id }: ModelEvent): string {
  return JSON.stringify([time, id]);
}

function serverAt(i: number): Server {
  return servers[i % servers.length] as Server;
}
