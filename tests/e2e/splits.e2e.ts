/**
 * The whole life of a wide partition on a real server: a read detects it, a worker splits and
 * validates it, reads use it, and operators control it over the API and the command line.
 */
import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { connect } from "../../client/connect.ts";
import type { BraidClient, Split } from "../../client/connect.ts";
import { metricOf } from "../support/conditions.ts";
import { braid, startServer } from "../support/started-server.ts";
import type { Ended, StartedServer } from "../support/started-server.ts";
import { Ledger } from "./splits-ledger.ts";
import {
  bucketBefore,
  eventsOver,
  eventually,
  VIEW_MAX_AGE_MS,
  readsAreRight,
  refusalOf,
  routesOf,
  seal,
  shortBuckets,
  SOON,
  splitOf,
  untilRoute,
  untilServable,
  WIDE_BYTES,
} from "./splits-support.ts";

const BUCKET_SECONDS = 60;
const WIDE = { count: 1_500, bytes: 250 };
const NARROW = { count: 30, bytes: 250 };

let server: StartedServer;
let client: BraidClient;
/** The bucket of all events. */
let bucket: { readonly from: number; readonly to: number };

before(async () => {
  server = await startServer({ env: SOON });
  client = connect(server.url);
  const from = bucketBefore(BUCKET_SECONDS, 30);
  bucket = { from, to: from + BUCKET_SECONDS * 1_000_000 };
});

after(async () => {
  await server[Symbol.asyncDispose]();
});

for (const layout of ["PACKED", "ROWS"] as const) {
  test(`a wide id is split into ${layout} parts and served from them after enough equal comparisons`, async () => {
    const name = `life_${layout.toLowerCase()}`;
    const ledger = await wideNamespace(name, { layout });
    deepEqual(await routes(name, "wide"), ["ORIGINAL_FILTER_MISS"]);
    const split = await untilServable(client, name, "wide");

    const [segment, ...others] = split.segments;
    deepEqual(others, []);
    const { postSplitData } = segment ?? {};
    equal(postSplitData?.layout, layout);
    equal(postSplitData?.strategy, "EVENT_BUCKETS");
    equal(postSplitData?.events, String(WIDE.count));
    ok((postSplitData?.parts.length ?? 0) >= 4, "there are several parts");
    for (const part of postSplitData?.parts ?? []) ok(Number(part.bytes) < 2 * WIDE_BYTES);
    deepEqual(statesOf(split), [
      "DETECTED",
      "PLANNING",
      "PLANNED",
      "SPLITTING",
      "VALIDATING",
      "COMPLETED",
      "COMPLETED",
    ]);

    await untilServing(name, ledger);
    const modes = await braid(["modes", "get", name], server.url);
    match(modes.out, /^mode +SERVE$/m);
    const [route] = await untilRoute(client, name, "wide", bucket, "SPLIT");
    equal(route?.events, String(WIDE.count));
    equal(route.parts, postSplitData?.parts.length);
    await readsAreRight([client], name, ledger, "wide", bucket);
    await readsAreRight([client], name, ledger, "narrow-1", bucket);
    deepEqual(await routes(name, "narrow-1"), ["ORIGINAL_FILTER_MISS"]);
    deepEqual(await routes(name, "wide"), ["SPLIT"]);

    const verified = await braid(["verify", name, "--json"], server.url);
    equal(verified.code, 0, verified.err + verified.out);
    const { state, eventsCompared, differencesFound, ...rest } = JSON.parse(verified.out);
    deepEqual([state, eventsCompared, differencesFound], ["DONE", String(WIDE.count), "0"]);
    deepEqual([rest.eventsTotal, rest.bytesTotal], [eventsCompared, rest.bytesCompared]);
    equal(
      await metricOf(server.url, `braid_comparisons_total{namespace="${name}",result="differ"}`),
      0,
    );
  });
}

test("the splits of a paused namespace wait, and continue when it is resumed", async () => {
  const name = "paused";
  await client.createNamespace(name, shortBuckets(BUCKET_SECONDS));
  equal((await run("splits", "pause", name, "--reason", "a load test")).code, 0);
  const ledger = await fill(name);
  await seal(client, name, bucket.to);
  await readsAreRight([client], name, ledger, "wide", bucket);
  await eventually(
    "noticed",
    () => splitOf(client, name, "wide"),
    (split) => split !== undefined,
  );
  // A split of another namespace, detected later, completes in the meantime.
  const other = await wideNamespace("not_paused", { layout: "PACKED" });
  await readsAreRight([client], "not_paused", other, "wide", bucket);
  await untilServable(client, "not_paused", "wide");
  const waiting = await splitOf(client, name, "wide");
  deepEqual([waiting?.state, waiting?.segments], ["DETECTED", []]);
  match((await run("splits", "ls", name)).err, /paused the splits of paused .*: a load test; /);
  ok((await client.getNamespace(name)).splitsPaused);
  equal((await run("splits", "resume", name)).code, 0);
  await untilServable(client, name, "wide");
});

test("K4, K5: operator requests hold: a rollback lasts, a retry splits again, and the kill switch stops all reads of splits", async () => {
  const name = "operated";
  const ledger = await wideNamespace(name, { layout: "PACKED" });
  deepEqual(await routes(name, "wide"), ["ORIGINAL_FILTER_MISS"]);
  const first = await untilServable(client, name, "wide");
  const location = locationOf(first);
  // Without evidence, only with force.
  const tooSoon = await run("modes", "set", name, "SERVE");
  deepEqual([tooSoon.code, tooSoon.out], [4, ""]);
  match(tooSoon.err, /set the mode with --force/);
  equal((await run("modes", "set", name, "SERVE", "--force", "--reason", "a test")).code, 0);
  await readsAreRight([client], name, ledger, "wide", bucket);
  await untilRoute(client, name, "wide", bucket, "SPLIT");

  const listed = await run("splits", "ls", name);
  equal(listed.code, 0);
  match(listed.out, new RegExp(`^${first.splitId} +COMPLETED +wide `, "m"));
  const shown = await run("splits", "show", name, ...location, "--parts");
  equal(shown.code, 0, shown.err);
  match(shown.out, /COMPLETED[^]*confirmed/);
  equal((await run("splits", "show", name, ...location.with(3, "narrow-1"))).code, 3);
  equal((await run("splits", "show", name)).code, 2);
  const waited = await run("splits", "wait", name, first.splitId);
  deepEqual([waited.code, waited.out], [0, "1 of 1 completed\n"]);

  const rolledBack = await run("splits", "rollback", name, first.splitId, "--reason", "I doubt it");
  match(rolledBack.out, /^rolled back .*: INVALIDATED.*\n$/);
  await isNeverReadFromSplit(name);
  await readsAreRight([client], name, ledger, "wide", bucket);
  const held = await splitOf(client, name, "wide");
  deepEqual([held?.state, held?.held, held?.segments.length], ["INVALIDATED", true, 0]);
  equal(await refusalOf(client.splits.request(name, first.preSplitData)), "REQUEST_INVALID");

  equal((await run("splits", "retry", name, ...location)).code, 0);
  const second = await untilServable(client, name, "wide");
  ok(Number(second.segments[0]?.generation) > Number(first.segments[0]?.generation));
  equal(second.segments[0]?.postSplitData.checksum, first.segments[0]?.postSplitData.checksum);
  await readsAreRight([client], name, ledger, "wide", bucket);
  await untilRoute(client, name, "wide", bucket, "SPLIT");
  equal((await run("splits", "retry", name, ...location)).code, 2);

  const on = await run("kill-switch", "on", "--reason", "a fire drill");
  deepEqual([on.code, on.err], [0, ""]);
  await isNeverReadFromSplit(name);
  await readsAreRight([client], name, ledger, "wide", bucket);
  match((await run("kill-switch", "status")).out, /ON: [^]*a fire drill/);
  equal((await run("kill-switch", "off")).code, 0);
  await untilRoute(client, name, "wide", bucket, "SPLIT");

  equal((await run("modes", "set", name, "OFF", "--reason", "enough")).code, 0);
  await isNeverReadFromSplit(name);
  await readsAreRight([client], name, ledger, "wide", bucket);
  equal((await run("verify", name)).code, 0);
  equal((await run("verify", name, "--slice", "data_19700101")).code, 3);
  equal((await run("verify", "nowhere")).code, 3);
});

test("metrics report splitting, with its labels and sizes", async () => {
  const name = "measured";
  const ledger = await wideNamespace(name, { layout: "PACKED" });
  await readsAreRight([client], name, ledger, "wide", bucket);
  const { segments, preSplitData } = await untilServable(client, name, "wide");
  await untilServing(name, ledger);
  await untilRoute(client, name, "wide", bucket, "SPLIT");
  await readsAreRight([client], name, ledger, "wide", bucket);
  await readsAreRight([client], name, ledger, "narrow-1", bucket);
  const { parts = [], bytes: bytesText } = segments[0]?.postSplitData ?? {};
  const bytes = Number(bytesText);
  const of = `namespace="${name}"`;

  const metric = await scrape();
  for (const stage of ["read", "written", "validated", "confirmed"]) {
    equal(metric(`braid_split_bytes_total{${of},stage="${stage}"}`), bytes, stage);
  }
  const sizes = "braid_split_partition_bytes";
  equal(metric(`${sizes}_count{${of},when="before"}`), 1);
  equal(metric(`${sizes}_sum{${of},when="before"}`), bytes);
  equal(metric(`${sizes}_count{${of},when="after"}`), parts.length);
  equal(metric(`${sizes}_sum{${of},when="after"}`), bytes);
  equal(metric(`braid_filter_entries{${of},slice="${preSplitData.timeSlice}"}`), 1);
  ok(metric(`braid_filter_bytes{${of},slice="${preSplitData.timeSlice}"}`) > 0);
  for (const result of ["hit", "miss"]) {
    ok(metric(`braid_filter_checks_total{${of},result="${result}"}`) > 0, result);
  }
  // Counted for a sample of lookups, so it may belong to another namespace.
  ok((await metricsText()).includes("braid_filter_check_seconds_count{"));
  ok(metric(`braid_filter_false_positives_total{${of}}`, 0) >= 0);
  ok(metric(`braid_route_fetch_seconds_count{${of}}`) > 0);
  for (const result of ["hit", "miss"]) {
    ok(metric(`braid_route_cache_total{${of},result="${result}"}`) > 0, result);
  }
  ok(metric(`braid_compare_bytes_total{${of},result="match"}`) >= bytes);
  equal(metric(`braid_compare_bytes_total{${of},result="differ"}`, 0), 0);
  equal(metric(`braid_detections_total{${of},outcome="emitted"}`), 1);
  for (const route of ["original", "wide_original", "split"]) {
    ok(metric(`braid_read_seconds_count{${of},route="${route}"}`) > 0, route);
  }
  equal(metric("braid_queue_lag"), 0);

  // A process counts them when it starts, and then once a minute.
  await server.restart("SIGTERM");
  const counted = await eventually("the splits are counted", scrape, (now) => {
    return now(`braid_splits{${of},state="COMPLETED"}`, 0) === 1;
  });
  for (const state of ["DETECTED", "SPLITTING", "PARKED", "FAILED", "INVALIDATED"]) {
    equal(counted(`braid_splits{${of},state="${state}"}`), 0, state);
  }
  const stored = counted(`braid_split_storage_bytes{${of}}`);
  ok(stored > bytes / 2 && stored < 2 * bytes, `${stored} bytes are stored of ${bytes}`);

  const { total, namespaces, countTime } = await client.splits.summary();
  ok(countTime !== undefined && total !== undefined);
  const summary = namespaces.find(({ namespace }) => namespace === name);
  deepEqual(
    [summary?.before.count, summary?.before.total, summary?.after.count, summary?.after.total],
    ["1", String(bytes), String(parts.length), String(bytes)],
  );
  equal(summary?.divertedBytes, String(bytes));
  equal(summary?.partsEstimated, "0");
  ok(Number(total.before.total) >= bytes);
  const shown = await run("splits", "summary", name);
  equal(shown.code, 0, shown.err);
  match(shown.out, /^splits +1 COMPLETED$/m);

  const queue = await client.queue.get();
  deepEqual([queue.queue, queue.waiting, queue.deadLetters], ["embedded", "0", "0"]);
  equal((await run("queue", "show")).code, 0);
  deepEqual((await client.queue.deadPage()).deadDetections, []);
  equal((await client.queue.drop("all", { reason: "there are none" })).count, "0");
  equal((await run("queue", "replay", "0:0")).code, 3);

  const [newest] = (await client.splits.newest("", { states: ["COMPLETED"] })).splits;
  ok(newest !== undefined);
  const split = await client.splits.get(newest.namespace, newest);
  for (const { originalChecksum, postSplitData } of split.segments) {
    match(originalChecksum, /^[0-9a-f]{32}$/);
    equal(postSplitData.checksum, originalChecksum);
  }
  ok(Number(split.latency.before.reads) > 0 && Number(split.latency.after.reads) > 0);
  equal(split.progress, undefined);

  await fallsBack(name, ledger);
});

/**
 * Re-opens sealed time during reads. Between the new epoch and the server's notice of the
 * invalidation, the split exists and must not be used; sometimes the notice is faster.
 */
async function fallsBack(name: string, ledger: Ledger): Promise<void> {
  const query = { ...bucket, series: "wide", order: "NEWEST_FIRST", over: "stream" } as const;
  await eventually(
    "a read falls back",
    async () => {
      await seal(client, name, bucket.to);
      await untilServable(client, name, "wide");
      await ledger.read([client], name, query);
      await untilRoute(client, name, "wide", bucket, "SPLIT");
      let opened = false;
      const opening = client
        .updateNamespace(name, { acceptLimit: "600s" })
        .finally(() => (opened = true));
      const last = { ...query, from: bucket.to - 1_000_000 };
      while (!opened) await ledger.read([client], name, last);
      await opening;
      await ledger.read([client], name, last);
      return metricOf(server.url, `braid_fallbacks_total{namespace="${name}",reason="epoch"}`);
    },
    (fallbacks) => fallbacks > 0,
  );
  deepEqual(ledger.wrong, []);
}

/**
 * The value of a series at one moment; `absent` if the series does not exist. Without `absent`,
 * that is a failure.
 */
type Scrape = (series: string, absent?: number) => number;

async function scrape(): Promise<Scrape> {
  const lines = (await metricsText()).split("\n");
  return (series, absent) => {
    const line = lines.find((each) => each.startsWith(`${series} `));
    const value = line === undefined ? absent : Number(line.slice(series.length + 1));
    ok(value !== undefined, `${series} exists`);
    return value;
  };
}

async function metricsText(): Promise<string> {
  return (await fetch(`${server.url}/metrics`)).text();
}

/** Fills and seals the namespace and reads it once; detection then starts the split. */
async function wideNamespace(
  name: string,
  widePartition: { readonly layout: "PACKED" | "ROWS" },
): Promise<Ledger> {
  await client.createNamespace(name, shortBuckets(BUCKET_SECONDS, { widePartition }));
  const ledger = await fill(name);
  await seal(client, name, bucket.to);
  return ledger;
}

/** One wide id among narrow ones. */
async function fill(name: string): Promise<Ledger> {
  const ledger = new Ledger();
  const { from, to } = bucket;
  await ledger.write(client, name, eventsOver(ledger, "wide", from, to, WIDE));
  for (let n = 0; n < 3; n++) {
    await ledger.write(client, name, eventsOver(ledger, `narrow-${n}`, from, to, NARROW));
  }
  return ledger;
}

/** Reads until evidence has advanced the namespace to SERVE; checks every read. */
async function untilServing(name: string, ledger: Ledger): Promise<void> {
  const modes = new Set<string>();
  await eventually(
    "SERVE",
    async () => {
      await ledger.read([client], name, {
        ...bucket,
        series: "wide",
        order: "NEWEST_FIRST",
        over: "stream",
      });
      const { mode, blockedBy } = await client.splits.getReadMode(name);
      modes.add(mode);
      return { mode, blockedBy };
    },
    ({ mode }) => mode === "SERVE",
  );
  // Earlier reads may have brought it out of SHADOW already.
  const steps = ["SHADOW", "COMPARE", "SERVE"];
  deepEqual([...modes], steps.slice(-modes.size));
}

/** Checks repeatedly, from `view_max_age` after the change on. */
async function isNeverReadFromSplit(name: string): Promise<void> {
  await pause(VIEW_MAX_AGE_MS);
  for (let look = 0; look < 5; look++) {
    for (const route of await routes(name, "wide")) {
      notEqual(route, "SPLIT");
      notEqual(route, "SPLIT_AND_ORIGINAL");
    }
    await pause(VIEW_MAX_AGE_MS / 4);
  }
}

async function routes(name: string, series: string): Promise<string[]> {
  const found = await routesOf(client, name, series, bucket.from, bucket.to);
  return found.map(({ route }) => route);
}

function run(...args: string[]): Promise<Ended> {
  return braid(args, server.url);
}

function statesOf({ history }: Split): string[] {
  return history.map(({ to }) => to);
}

/** As a flag value of the command line. */
function locationOf({ preSplitData }: Split): string[] {
  const { timeSlice, timeSeriesId, timeBucket } = preSplitData;
  return ["--slice", timeSlice, "--id", timeSeriesId, "--time-bucket", String(timeBucket)];
}
