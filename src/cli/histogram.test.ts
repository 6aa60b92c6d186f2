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
