/** The partition sizes that a real Cassandra reports match what was written. @needs cassandra */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { openCassandraEngine } from "../../../src/engines/cassandra/index.ts";
import { keyspaceOf } from "../../../src/engines/cassandra/keyspaces.ts";
import { cassandraPartitionSizes } from "../../../src/engines/cassandra/partition-sizes.ts";
import { Session } from "../../../src/engines/cassandra/session.ts";
import type { Row } from "../../../src/engines/cassandra/session.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { systemRandom } from "../../../src/lib/random.ts";
import { SizeHistogram } from "../../../src/model/size-histogram.ts";
import type { NoSizes, SizeReport, SizeSource } from "../../../src/ports/partition-sizes.ts";
import { IdSample } from "../../../src/sizes/id-sample.ts";
import { WalkTally } from "../../../src/sizes/walk-tally.ts";
import { placed } from "../../conformance/event-store.ts";
import { until } from "../../support/conditions.ts";
import { freePort } from "../../support/fake-braid.ts";
import { testCassandra, testJolokia, uniqueName } from "../../support/services.ts";

const START = 1_774_656_000_000_000;
const EVENT_BYTES = 10_000;
/** Events of each partition: 30 small ones, 10 of 100 KB, one of 2 MB. */
const PARTITIONS = [...Array<number>(30).fill(1), ...Array<number>(10).fill(10), 200];
const HOURLY = { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 3_600, eventBuckets: 1 };
const WALKED = {
  start: START,
  end: START + 86_400_000_000,
  timePartition: HOURLY,
  source: "WALK",
  asOf: START,
  endedAt: START,
  sealed: true,
  epoch: 0,
  complete: true,
} as const;
const never = new AbortController().signal;
const clock = systemClock;

async function open() {
  const prefix = uniqueName("sz");
  const where = { ...testCassandra(), replication: { datacenter1: 1 } };
  const engine = await openCassandraEngine({
    ...where,
    keyspace: prefix,
    clock,
    random: systemRandom,
    viewMaxAgeMs: 10_000,
    writeMaxMs: 10_000,
    jolokiaPort: Number(new URL(testJolokia()).port),
  });
  const nobody = (): void => undefined;
  const session = await Session.connect(where, clock, { observe: nobody, warn: nobody });
  const slice = { namespaceId: `plays-${prefix}`, slice: "data_20260328" };
  await engine.store.createSlice(slice);
  const keyspace = keyspaceOf(prefix, slice.namespaceId);
  return {
    slice,
    engine,
    write: async (series: string, from: number, to: number): Promise<void> => {
      const events = Array.from({ length: to - from }, (_, nth) =>
        // One repeated letter: compressed, it would be next to nothing.
        placed(series, START + from + nth, `e${from + nth}`, "a".repeat(EVENT_BYTES)),
      );
      await engine.store.append(slice, events);
    },
    flush: () =>
      operate("forceKeyspaceFlush(java.lang.String,[Ljava.lang.String;)", [keyspace, []]),
    ask: async (
      source: SizeSource,
      jolokiaPort = Number(new URL(testJolokia()).port),
    ): Promise<SizeReport | NoSizes | undefined> => {
      const sources = cassandraPartitionSizes({ session, prefix, clock, jolokiaPort });
      return sources.find((each) => each.source === source)?.sizesOf(slice, never);
    },
    histograms: async (namespace: string): Promise<readonly Row[]> => {
      const query = `SELECT * FROM ${prefix}.partition_histogram WHERE namespace = ?`;
      return (await session.execute("sizes", query, [namespace], {})).rows;
    },
    async [Symbol.asyncDispose]() {
      await engine.store.dropNamespace(slice.namespaceId);
      await session.changeSchema(`DROP KEYSPACE IF EXISTS ${prefix}`);
      await session.close();
      await engine.close();
    },
  };
}

/** What `nodetool` does, over HTTP. */
async function operate(operation: string, args: readonly unknown[] = []): Promise<void> {
  const mbean = "org.apache.cassandra.db:type=StorageService";
  const body = JSON.stringify({ type: "exec", mbean, operation, arguments: args });
  const response = await fetch(`${testJolokia()}/`, { method: "POST", body });
  equal(((await response.json()) as { status: number }).status, 200, operation);
}

/**
 * A size reported for a partition of this many events: its bucket's bound, and Cassandra's
 * overhead.
 */
function isAbout(bytes: number | undefined, events: number): boolean {
  const written = events * EVENT_BYTES;
  return bytes !== undefined && bytes >= written && bytes <= written * 1.25 + 1_000;
}

test("the histogram has every partition once it is flushed, before compression, by its size", async () => {
  await using world = await open();
  for (const [nth, events] of PARTITIONS.entries()) await world.write(`s${nth}`, 0, events);
  await world.flush();
  const report = await world.ask("JMX");
  ok(report?.kind === "sizes", JSON.stringify(report));
  equal(report.count, PARTITIONS.length);
  const { histogram } = report;
  ok(isAbout(histogram?.percentile(0.5), 1), `p50 ${histogram?.percentile(0.5)}`);
  ok(isAbout(histogram?.percentile(0.9), 10), `p90 ${histogram?.percentile(0.9)}`);
  ok(isAbout(report.maxBytes, 200), `max ${report.maxBytes}`);
  equal(report.coverage, "1 of 1 node answered");

  await operate("refreshSizeEstimates()");
  const estimates = await world.ask("TABLE_ESTIMATES");
  ok(estimates?.kind === "sizes", JSON.stringify(estimates));
  // The same numbers from another source.
  equal(estimates.meanBytes, report.meanBytes);
  equal(estimates.maxBytes, Math.ceil(report.maxBytes / 1_048_576) * 1_048_576);
  // In steps of 128, as the source says.
  ok(estimates.count >= PARTITIONS.length, `${estimates.count}`);
  match(estimates.doesNotTell, /steps of 128/);
});

test("unflushed data is not counted, and a partition in two files counts twice", async () => {
  await using world = await open();
  const counted = async (): Promise<number | undefined> => {
    const report = await world.ask("JMX");
    return report?.kind === "sizes" ? report.count : undefined;
  };
  await world.write("wide", 0, 5);
  equal(await counted(), 0);
  await world.flush();
  equal(await counted(), 1);
  await world.write("wide", 5, 10);
  equal(await counted(), 1);
  await world.flush();
  equal(await counted(), 2);
});

test("a slice's data files are counted, and a cluster that cannot say returns nothing", async () => {
  await using world = await open();
  const { engine, slice } = world;
  const before = await engine.fragments(slice);
  await world.write("wide", 0, 5);
  await world.flush();
  const after = await engine.fragments(slice);
  equal(after?.files, (before?.files ?? 0) + 1);
  match(after?.compactCommand ?? "", /^nodetool compact /);
  equal(await engine.fragments({ ...slice, slice: "data_none" }), undefined);
  equal(engine.severalDatacenters, false);
});

test("a histogram can be read with plain CQL, is replaced by the next walk, and goes with its namespace", async () => {
  await using world = await open();
  for (const [nth, events] of PARTITIONS.entries()) await world.write(`s${nth}`, 0, events);
  const { store, histogramTable } = world.engine;
  const tally = new WalkTally(HOURLY, new IdSample(1));
  const walk = { partitionsMax: 7, bytesMax: 1e9, msMax: 60_000, countBytesMax: 1e9 };
  for (let after: string | undefined; ;) {
    const page = await store.walkPartitions(
      world.slice,
      { ...walk, after, counts: () => true },
      never,
    );
    tally.add(page);
    if (page.next === undefined) break;
    after = page.next;
  }
  const namespace = { name: "plays", id: world.slice.namespaceId };
  const histogram = { ...WALKED, timeSlice: world.slice.slice, ...tally.sizes() };
  // Before the walk, what the storage itself says: with percentiles, or without.
  const reported = await world.ask("TABLE_ESTIMATES");
  ok(reported?.kind === "sizes");
  const estimates = { ...reported, count: 128, meanBytes: 1_000, maxBytes: 2_097_152 };
  await histogramTable?.publishReport(namespace, histogram, estimates);
  const [first] = await world.histograms("plays");
  deepEqual(
    [first?.["source"], first?.["complete"], Number(first?.["partitions"]), first?.["bytes_p99"]],
    ["TABLE_ESTIMATES", false, 128, null],
  );
  const sizes = SizeHistogram.of(histogram.partitions.bytes);
  const jmx = { ...estimates, source: "JMX", histogram: sizes } as const;
  await histogramTable?.publishReport(namespace, histogram, jmx);
  const [second] = await world.histograms("plays");
  equal(second?.["source"], "JMX");
  equal(Number(second?.["bytes_p99"]), sizes.percentile(0.99));
  match(String(second?.["excludes"]), /steps of 128.*events per partition/);
  await histogramTable?.publish(namespace, { ...histogram, sealed: false });
  await histogramTable?.publish(namespace, histogram);
  const [row, ...others] = await world.histograms("plays");
  equal(others.length, 0);
  equal(row?.["time_slice"], "data_20260328");
  equal(row?.["sealed"], true);
  equal(Number(row?.["partitions"]), PARTITIONS.length);
  equal(Number(row?.["events_max"]), 200);
  equal(Number(row?.["events_p50"]), 1);
  ok(Number(row?.["bytes_max"]) > 2_000_000);
  ok(Object.keys(row?.["bytes_buckets"] ?? {}).length >= 3);
  equal(row?.["excludes"], "");
  await store.dropNamespace(world.slice.namespaceId);
  deepEqual(await world.histograms("plays"), []);
});

test("T4: without an agent there is a reason, and the estimates are still available", async () => {
  await using world = await open();
  await world.write("some", 0, 5);
  const jmx = await world.ask("JMX", await freePort());
  match(jmx?.kind === "none" ? jmx.reason : "", /^no Jolokia agent at http:.*ECONNREFUSED/);
  const estimates = await world.ask("TABLE_ESTIMATES");
  equal(estimates?.kind === "sizes" && estimates.count, 0);
});

test("a node says through its agent how many reads wait, how long it collected, and how busy it is", async () => {
  await using world = await open();
  const { engine } = world;
  const leaving = new AbortController();
  const watching = engine.watchNodes(leaving.signal);
  await until(() => engine.nodeFigures().length > 0);
  leaving.abort();
  await watching;
  equal(engine.nodes(), 1);
  const [figures] = engine.nodeFigures();
  ok(figures?.pendingReads !== undefined && figures.pendingReads >= 0);
  ok(figures.readTimeouts !== undefined && figures.readTimeouts >= 0);
  ok(figures.gcSeconds !== undefined && figures.gcSeconds > 0, "a node that started has collected");
  ok(figures.cpuShare !== undefined && figures.cpuShare <= 1);
});
