import { equal, match } from "node:assert/strict";
import { test } from "node:test";
import { fakeBraid } from "../../tests/support/fake-braid.ts";
import { runBraid } from "../../tests/support/fake-terminal.ts";
import { EXAMPLES } from "../api/examples.ts";

test("braid metrics shows each series over time, and as csv a row for each time", async () => {
  await using server = await fakeBraid(() => EXAMPLES["GetMetricsHistory"]?.answer);
  const shown = await runBraid(["metrics", "--series", "reads, read_latency."], server);
  equal(shown.code, 0, shown.err);
  match(shown.out, /^SERIES +LAST +MIN +MEAN +MAX +UNIT +OVER TIME\n/);
  match(shown.out, /\nread_latency\.p99 +0\.012 +0\.0041 +0\.00805 +0\.012 +s +  *▃█\n/);
  match(shown.out, /\nreads +79\.2 +0 +53\.6 +81\.5 +1\/s +▁██\n/u);
  match(shown.err, /of server-5f0c2a9d4b71, since 2026-11-15T09:57:30Z/);
  const request = server.requests[0]?.body;
  equal(JSON.stringify(request?.["series"]), '["reads","read_latency."]');
  const csv = await runBraid(["metrics", "plays", "--seconds", "-o", "csv"], server);
  equal(
    csv.out,
    "time,read_latency.p99,reads\n" +
      "2026-11-15T09:57:00.000Z,,0\n" +
      "2026-11-15T09:58:00.000Z,0.004096,81.5\n" +
      "2026-11-15T09:59:00.000Z,0.012,79.2\n",
  );
  equal(server.requests[1]?.body["resolution"], "SECOND");
});
