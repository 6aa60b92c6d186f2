import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { fakeBraid, refuse } from "../../tests/support/fake-braid.ts";
import { runBraid } from "../../tests/support/fake-terminal.ts";

const HISTOGRAM = {
  count: "25",
  buckets: [
    { upToBytes: "51012", partitions: "15" },
    { upToBytes: "61214", partitions: "5" },
    { upToBytes: "73457", partitions: "0" },
    { upToBytes: "88148", partitions: "5" },
  ],
  p50: "51012",
  p99: "88148",
  max: "88148",
  source: "JMX",
  timeSlice: "data_20261115",
  mean: "60000",
  asOf: "2026-11-15T10:00:00Z",
  coverage: "3 of 3 nodes answered",
  tells: "much",
  doesNotTell: "little",
  alternatives: [
    { source: "READS", reason: "", count: "0", max: "0", mean: "0", coverage: "nothing read" },
    { source: "TABLE_ESTIMATES", reason: "it is away" },
  ],
};

test("histogram draws bars by powers of two and names its source", async () => {
  await using server = await fakeBraid(() => HISTOGRAM);
  const { code, out } = await runBraid(["histogram", "plays"], { url: server.url });
  equal(code, 0);
  deepEqual(server.requests[0]?.body, { namespace: "plays", timeSlice: "" });
  equal(
    out,
    `  UP TO  PARTITIONS
 64 KiB          20  ${"#".repeat(40)}
128 KiB           5  ${"#".repeat(10)}
slice       data_20261115
partitions  25: p50 49.8 KiB, p99 86.1 KiB, mean 58.6 KiB, max 86.1 KiB
source      JMX at 2026-11-15T10:00:00Z (2h ago): 3 of 3 nodes answered
shows       much
leaves out  little
other sources:
  READS: none seen; nothing read
  TABLE_ESTIMATES: it is away
`,
  );
});

test("histogram takes a slice, prints JSON as it came, and exits 3 where there is none", async () => {
  await using server = await fakeBraid(({ body }, response) =>
    body["timeSlice"] === "data_20261115"
      ? HISTOGRAM
      : refuse(response, 404, "TIME_SLICE_NOT_FOUND"),
  );
  const around = { url: server.url };
  const found = await runBraid(["histogram", "plays", "data_20261115", "--json"], around);
  deepEqual(JSON.parse(found.out), HISTOGRAM);
  const missing = await runBraid(["histogram", "plays", "data_1"], around);
  equal(missing.code, 3);
  match(missing.err, /braid slices plays$/m);
});

test("a source without a histogram is shown without bars and percentiles", async () => {
  const { p50: _p50, p99: _p99, ...rest } = HISTOGRAM;
  await using server = await fakeBraid(() => ({ ...rest, buckets: [], alternatives: [] }));
  const { out } = await runBraid(["histogram", "plays"], { url: server.url });
  match(out, /^slice {7}data_20261115\npartitions {2}25: mean 58\.6 KiB, max 86\.1 KiB\n/);
});

const BAND = { densityMinBytes: "65536", densityMaxBytes: "262144" };

test("histogram draws the size that partitions should have, also where none lies there", async () => {
  const buckets = [{ upToBytes: "30000", partitions: "10" }];
  const events = { count: "10", min: "1", p50: "2", p75: "3", p95: "4", p98: "5", p99: "6" };
  const walk = { min: "10", p75: "20000", p95: "25000", p98: "30000", source: "WALK" };
  await using server = await fakeBraid(() => ({
    ...HISTOGRAM,
    ...BAND,
    ...walk,
    count: "10",
    buckets,
    events: { ...events, max: "1000" },
    alternatives: [],
  }));
  const { out } = await runBraid(["histogram", "plays"], { url: server.url });
  equal(
    out.split("\n").slice(0, 8).join("\n"),
    `  UP TO  PARTITIONS
 32 KiB          10     ${"#".repeat(40)}
 64 KiB           0
128 KiB           0  |
256 KiB           0  |
slice       data_20261115
partitions  10: min 10 B, p50 49.8 KiB, p75 19.5 KiB, p95 24.4 KiB, p98 29.3 KiB, p99 86.1 KiB, mean 58.6 KiB, max 86.1 KiB
events      min 1, p50 2, p75 3, p95 4, p98 5, p99 6, max 1,000`,
  );
  match(out, /^target {6}64 KiB to 256 KiB$/m);
});

test("histogram --history has a line for each slice and says how it compares with the target", async () => {
  const sizes = { count: "7", p50: "1000", p99: "2000", max: "9000" };
  const past = {
    timeSlice: "data_20261114",
    sealed: true,
    timePartition: { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 60, eventBuckets: 1 },
    source: "WALK",
    excludes: [],
    bytes: sizes,
    events: { ...sizes, p99: "30" },
  };
  const { events: _, ...unwalked } = past;
  const estimated = {
    ...unwalked,
    timeSlice: "data_20261117",
    source: "TABLE_ESTIMATES",
    bytes: { ...sizes, count: "128", p50: "0", p99: "0" },
  };
  const wide = { ...past, timeSlice: "data_20261115", bytes: { ...sizes, p99: "300000" } };
  const good = { ...past, timeSlice: "data_20261116", bytes: { ...sizes, p99: "100000" } };
  await using server = await fakeBraid(() => ({
    ...HISTOGRAM,
    ...BAND,
    history: [past, wide, good, estimated],
  }));
  const { out } = await runBraid(["histogram", "plays", "--history"], { url: server.url });
  deepEqual(server.requests[0]?.body, { namespace: "plays", timeSlice: "", history: true });
  const lines = out.split("\n");
  match(lines[0] ?? "", /^SLICE +SEALED +BUCKET .*P99 +MAX .*TARGET/);
  match(lines[1] ?? "", /^data_20261114 +yes +1m .* 2 KiB +8\.8 KiB .*below/);
  match(lines[2] ?? "", /^data_20261115 .*above/);
  match(lines[3] ?? "", /^data_20261116 .*inside/);
  match(lines[4] ?? "", /^data_20261117 +yes +1m +1 +128 +8\.8 KiB +TABLE_ESTIMATES$/);
});
