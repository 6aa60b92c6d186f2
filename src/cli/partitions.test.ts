import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { fakeBraid, refuse } from "../../tests/support/fake-braid.ts";
import { runBraid } from "../../tests/support/fake-terminal.ts";

const WIDE = {
  timeSeriesId: "profile:123",
  timeBucket: 7,
  eventBucket: 2,
  bytes: "52428800",
  events: "120000",
  share: 0.25,
  exact: true,
  route: "ORIGINAL_HELD",
  splitState: "COMPLETED",
  splitId: "c11psr2pyb",
};
const DETECTED = {
  ...WIDE,
  timeSeriesId: "bot\u001b[2J",
  bytes: "10485760",
  events: "9",
  share: 0.05,
  exact: false,
  route: "ORIGINAL_NOT_SPLIT",
  splitState: undefined,
  splitId: "",
};
const PAGE = {
  partitions: [WIDE, DETECTED],
  asOf: "2026-11-15T10:00:00Z",
  complete: true,
  nextPageToken: "",
  timeSlice: "data_20261115",
  totalBytes: "209715200",
  totalEvents: "1",
  known: 2,
  matching: 2,
  coverage: "the largest",
};

test("partitions lists the largest with share, route and split, and escapes ids", async () => {
  await using server = await fakeBraid(() => PAGE);
  const args = ["partitions", "plays", "--slice", "data_20261115", "--top", "2", "--by", "events"];
  const { code, out, err } = await runBraid(args, { url: server.url });
  equal(code, 0);
  deepEqual(server.requests[0]?.body, {
    namespace: "plays",
    timeSlice: "data_20261115",
    orderBy: "EVENTS",
    pageSize: 2,
    pageToken: "",
  });
  equal(
    out,
    `ID           BUCKET     SIZE   EVENTS  SHARE  ROUTE               SPLIT      SPLIT ID
profile:123     7/2   50 MiB  120,000  25.0%  ORIGINAL_HELD       COMPLETED  c11psr2pyb
bot\\x1b[2J      7/2  ~10 MiB       ~9   5.0%  ORIGINAL_NOT_SPLIT
`,
  );
  match(err, /data_20261115 was measured at 2026-11-15T10:00:00Z \(2h ago\)/);
});

test("partitions asks for one id, time buckets and sizes, and says how many match", async () => {
  await using server = await fakeBraid(() => ({ ...PAGE, known: 1_500 }));
  const wanted = ["--id", "a", "--buckets", "3..7", "--size", "10MiB.."];
  const { err } = await runBraid(["partitions", "plays", ...wanted], { url: server.url });
  deepEqual(server.requests[0]?.body, {
    namespace: "plays",
    timeSlice: "",
    orderBy: "BYTES",
    pageSize: 20,
    pageToken: "",
    timeSeriesId: "a",
    timeBucketMin: 3,
    timeBucketMax: 7,
    bytesMin: "10485760",
  });
  match(err, /2 of the 1,500 that are known by name/);
  for (const range of ["7", "..", "a..b", "1..2..3"]) {
    const ran = await runBraid(["partitions", "plays", "--buckets", range], { url: server.url });
    equal(ran.code, 2, range);
    match(ran.err, /must be a range such as 3\.\.7/);
  }
});

test("partitions asks for further pages until it has as many as wanted", async () => {
  await using server = await fakeBraid(({ body }) =>
    body["pageToken"] === "" ? { ...PAGE, nextPageToken: "more" } : PAGE,
  );
  const { out } = await runBraid(["partitions", "plays", "--top", "4", "--json"], {
    url: server.url,
  });
  equal((JSON.parse(out) as typeof PAGE).partitions.length, 4);
  deepEqual(
    server.requests.map(({ body }) => [body["pageSize"], body["pageToken"]]),
    [
      [4, ""],
      [2, "more"],
    ],
  );
});

test("partitions says when the slice was not measured yet, and what a wrong number should be", async () => {
  await using server = await fakeBraid(() => {
    const { asOf: _asOf, ...rest } = PAGE;
    return { ...rest, partitions: [], complete: false };
  });
  const { code, err } = await runBraid(["partitions", "plays"], { url: server.url });
  equal(code, 0);
  match(err, /data_20261115 was not measured yet; .*walk\.current_every/);
  await using empty = await fakeBraid(() => ({ ...PAGE, partitions: [], known: 0, matching: 0 }));
  const none = await runBraid(["partitions", "plays"], { url: empty.url });
  match(none.err, /^braid: data_20261115 was measured at .*; it had no events then$/m);
  const wrong = await runBraid(["partitions", "plays", "--top", "many"], { url: server.url });
  equal(wrong.code, 2);
  match(wrong.err, /must be a whole number from 1 to 2,000/);
});

test("partitions of a slice that is not there exits 3 with the command that lists slices", async () => {
  await using server = await fakeBraid((_, response) =>
    refuse(response, 404, "TIME_SLICE_NOT_FOUND"),
  );
  const { code, err } = await runBraid(["partitions", "plays", "--slice", "x"], {
    url: server.url,
  });
  equal(code, 3);
  match(err, /braid slices plays$/m);
});
