import { equal, match } from "node:assert/strict";
import { test } from "node:test";
import { fakeBraid } from "../../tests/support/fake-braid.ts";
import { runBraid } from "../../tests/support/fake-terminal.ts";

const FILTER = {
  namespace: "plays",
  timeSlice: "data_20261115",
  entries: "120",
  capacity: "409",
  bytes: "512",
  checks: "20000",
  hits: "1500",
  falsePositives: "37",
  configuredRate: 0.01,
  expectedRate: 0.0004,
  observedRate: 0.002,
  age: "2.500s",
  loadTime: "2026-11-15T11:50:00Z",
  openTime: "2026-11-15T10:00:00Z",
};
const PAGE = {
  filters: [FILTER],
  nextPageToken: "",
  process: "server-5f0c2a9d4b71",
  total: 1,
  totalBytes: "512",
  viewMaxAge: "10s",
};

test("filters shows each slice's filter with its rates, over all pages", async () => {
  await using server = await fakeBraid(({ body }) =>
    body["pageToken"] === "" ? { ...PAGE, nextPageToken: "more" } : PAGE,
  );
  const { code, out, err } = await runBraid(["filters", "plays"], { url: server.url });
  equal(code, 0);
  equal(server.requests.length, 2);
  equal(server.requests[0]?.body["namespace"], "plays");
  const row =
    "plays      data_20261115      120  512 B  20,000  1,500     37  0.20% / 0.04%  2.5s  10m ago\n";
  equal(
    out,
    `NAMESPACE  SLICE          ENTRIES   SIZE  CHECKS   HITS  FALSE           RATE   AGE  LOADED\n${row}${row}`,
  );
  match(err, /server-5f0c2a9d4b71 has 1 filter, 512 B; a full one is wrong for at most 1\.00%/);
});

test("filters says when a server has none yet", async () => {
  const none = { ...PAGE, filters: [], total: 0, totalBytes: "0" };
  await using server = await fakeBraid(() => none);
  const { err } = await runBraid(["filters"], { url: server.url });
  match(err, /has no filter yet: it loads one when a slice is first read/);
});
