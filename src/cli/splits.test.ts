import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { fakeBraid, refuse } from "../../tests/support/fake-braid.ts";
import { runBraid } from "../../tests/support/fake-terminal.ts";
import { NAMESPACE } from "../../tests/support/namespace-json.ts";
import { EXAMPLES } from "../api/examples.ts";
import type { Split } from "../../client/connect.ts";

// The answer that the API's documents show. A test of their own sees to it that it is one.
const SPLIT = EXAMPLES["GetSplit"]?.answer as unknown as Split;

/** A page of ListSplits. */
function page(splits: readonly object[], nextPageToken = "", more: object = {}): object {
  const killSwitch = { on: false, by: "", reason: "", unchanged: false };
  return { splits, nextPageToken, killSwitch, paused: [], unreadable: "0", ...more };
}

const PARTITION = {
  timeSlice: "data_20261114",
  timeSeriesId: "profile:123",
  timeBucket: 7,
  eventBucket: 0,
};
const LOCATION = "--slice data_20261114 --id profile:123 --time-bucket 7".split(" ");

test("splits ls prints a table of a state, and JSON as it came", async () => {
  await using server = await fakeBraid(() => page([SPLIT]));
  const { url } = server;
  const ran = await runBraid("splits ls plays --state completed".split(" "), { url });
  equal(ran.code, 0, ran.err);
  deepEqual(ran.out.split("\n"), [
    "SPLIT       STATE      ID           TIME               BUCKET      SIZE  PARTS  AGE  REASON",
    "c11psr2pyb  COMPLETED  profile:123  11-14 07:00-08:00  7/0     15.3 MiB      2   1d  confirmed: a second read of the original agrees with the copy",
    "",
  ]);
  equal(ran.err, "braid: one split, whose copies take 15.3 MiB in addition to the originals\n");
  deepEqual(server.requests[0]?.body, {
    namespace: "plays",
    state: "COMPLETED",
    pageSize: 0,
    pageToken: "",
  });
  const asJson = await runBraid("splits ls plays --json".split(" "), { url });
  deepEqual(JSON.parse(asJson.out), { splits: [SPLIT], unreadable: "0" });
  equal("state" in (server.requests[1]?.body ?? {}), false);
});

test("splits ls stops at a screenful and says so, unless all are wanted", async () => {
  const pages = ["", "a", "b"];
  await using server = await fakeBraid(({ body }) => {
    const at = pages.indexOf(String(body["pageToken"]));
    const splits = Array.from({ length: 60 }, () => SPLIT);
    return page(splits, pages[at + 1] ?? "");
  });
  const { url } = server;
  const first = await runBraid(["splits", "ls", "plays"], { url });
  equal(first.out.split("\n").length, 102);
  match(first.err, /more than 100; see them with --all/);
  equal(server.requests.length, 2);
  const all = await runBraid(["splits", "ls", "plays", "--all"], { url });
  equal(all.out.split("\n").length, 182);
  equal(all.err, "braid: 180 splits, whose copies take 2.7 GiB in addition to the originals\n");
});

test("C28: splits ls says how many records the server could not decode", async () => {
  await using server = await fakeBraid(({ body }) =>
    body["pageToken"] === ""
      ? page([SPLIT], "a", { unreadable: "1" })
      : page([], "", { unreadable: "2" }),
  );
  const { url } = server;
  const ran = await runBraid(["splits", "ls", "plays"], { url });
  match(ran.err, /3 records are left out: the server cannot decode them/);
  const asJson = await runBraid("splits ls plays --json".split(" "), { url });
  deepEqual(JSON.parse(asJson.out), { splits: [SPLIT], unreadable: "3" });
});

test("splits show prints sizes and latencies before and after, and the history", async () => {
  await using server = await fakeBraid(() => SPLIT);
  const { url } = server;
  const ran = await runBraid(["splits", "show", "plays", ...LOCATION, "--parts"], { url });
  equal(ran.code, 0, ran.err);
  deepEqual(server.requests[0]?.body, { namespace: "plays", partition: PARTITION });
  equal(
    ran.out,
    `split         c11psr2pyb
namespace     plays
id            profile:123
partition     data_20261114, time bucket 7, event bucket 0
time          2026-11-14 07:00-08:00
state         COMPLETED: confirmed: a second read of the original agrees with the copy
next          nothing scheduled
attempts      1
before        15.3 MiB, 160,000 events
after         15.3 MiB, 160,000 events in 2 parts, the largest 8 MiB
pages before  mean 311ms, at most 802ms, over 6
pages after   mean 6.2ms, at most 19ms, over 6
epoch         0

segments:
2026-11-14T07:00:00Z to 2026-11-14T08:00:00Z
  state            COMPLETED, generation 1
  why              reads found it wide: at least 16,000,000 bytes in 160,000 events, the bucket is closed
  how              PACKED, EVENT_BUCKETS, parts of 8 MiB
  copied           15.3 MiB, 160,000 events in 2 parts of wide_data_20261114_0
  checksum before  9f2c4e1ab07d55c8d3e6f0a1b2c3d4e5
  checksum after   9f2c4e1ab07d55c8d3e6f0a1b2c3d4e5
  confirmed        by a second read of the original, 2026-11-14T08:11:20Z

parts:
EVENT BUCKET  FROM                  TO                       SIZE  EVENTS
           0  2026-11-14T07:30:00Z  2026-11-14T08:00:00Z    8 MiB  83,886
           1  2026-11-14T07:00:00Z  2026-11-14T07:30:00Z  7.3 MiB  76,114

history:
AT                    BY                   FROM       TO         CAUSE      REASON
2026-11-14T08:10:40Z  worker-5f0c2a9d4b71             DETECTED   detection  a read saw 16,000,000 bytes in 160,000 events
2026-11-14T08:11:10Z  worker-5f0c2a9d4b71  COMPLETED  COMPLETED  confirmed  confirmed: a second read of the original agrees with the copy
`,
  );
});

test("splits summary prints states, sizes before and after, and the space", async () => {
  const example = EXAMPLES["GetSplitSummary"]?.answer;
  let answer: object = { ...example };
  await using server = await fakeBraid(() => answer);
  const { url } = server;
  const ran = await runBraid(["splits", "summary"], { url });
  equal(ran.code, 0, ran.err);
  match(ran.out, /^splits +1 COMPLETED$/m);
  match(ran.out, /^before +1 partition: median 15.3 MiB, p99 15.3 MiB, largest 15.3 MiB$/m);
  match(ran.out, /^after +2 parts: median 8 MiB, p99 8 MiB, largest 8 MiB$/m);
  match(ran.out, /^space +14.7 MiB in addition to the originals$/m);
  match(ran.out, /^16 MiB +1 +0$/m);
  match(ran.out, /^ 8 MiB +0 +2$/m);
  match(ran.out, /^plays +1 +1 COMPLETED +15.3 MiB +8 MiB +14.7 MiB$/m);
  deepEqual(server.requests[0]?.body, { namespace: "", pageSize: 0, pageToken: "" });
  const one = await runBraid(["splits", "summary", "plays", "--json"], { url });
  equal((JSON.parse(one.out) as { namespaces: unknown[] }).namespaces.length, 1);
  answer = { namespaces: [], nextPageToken: "" };
  match((await runBraid(["splits", "summary"], { url })).err, /were not counted yet/);
});

test("splits show prints how far the worker has come", async () => {
  const progress = {
    step: "COPY",
    bytesDone: "4194304",
    bytesTotal: "16777216",
    eventsDone: "1",
    eventsTotal: "4",
    totalExact: false,
  };
  await using server = await fakeBraid(() => ({ ...SPLIT, progress }));
  const ran = await runBraid(["splits", "show", "plays", ...LOCATION], { url: server.url });
  match(ran.out, /^progress +4 MiB of at least 16 MiB copied \(25 %\)$/m);
});

test("splits show says that a checksum of the copy was not kept, or is still to come", async () => {
  const [segment] = SPLIT.segments;
  const postSplitData = { ...segment?.postSplitData, checksum: "" };
  let state = "COMPLETED";
  await using server = await fakeBraid(() => ({
    ...SPLIT,
    segments: [{ ...segment, state, postSplitData }],
  }));
  const show = async (): Promise<string> => {
    const ran = await runBraid(["splits", "show", "plays", ...LOCATION], { url: server.url });
    return ran.out;
  };
  match(await show(), /^ {2}checksum before +9f2c4e1ab07d55c8d3e6f0a1b2c3d4e5$/m);
  match(await show(), /^ {2}checksum after +not kept: an earlier version made this copy$/m);
  state = "VALIDATING";
  match(await show(), /^ {2}checksum after +not read back yet$/m);
});

test("splits show prints the owner, the checkpoint, and what the split waits for", async () => {
  const [segment] = SPLIT.segments;
  const unfinished = {
    ...SPLIT,
    state: "SPLITTING",
    owner: "worker-2",
    segments: [
      { ...segment, state: "SPLITTING", copiedTo: "2026-11-14T07:30:00Z", confirmed: false },
    ],
  };
  let answer: object = unfinished;
  await using server = await fakeBraid(() => answer);
  const show = async (): Promise<string> => {
    const ran = await runBraid(["splits", "show", "plays", ...LOCATION], { url: server.url });
    return ran.out;
  };
  const working = await show();
  match(working, /^next +worker-2 works on it$/m);
  match(working, /^ {2}checkpoint +all from 2026-11-14T07:30:00Z on is copied$/m);
  match(working, /^ {2}confirmed +no: not served yet$/m);
  answer = { ...SPLIT, dueTime: "2026-11-15T13:00:00Z", failures: 2, segments: [] };
  const parked = await show();
  match(parked, /^next +due at 2026-11-15T13:00:00Z \(in 1h\); 2 differences in a row$/m);
  match(parked, /^after +nothing copied$/m);
  answer = { ...SPLIT, held: true, heldBy: "operator" };
  match(await show(), /^next +nothing until a retry: held by operator$/m);
});

test("splits ls and show say that splits are paused, and ls that the kill switch is on", async () => {
  const waiting = { ...SPLIT, dueTime: "2026-11-15T12:00:00Z" };
  const splitsPause = {
    namespace: "plays",
    since: "2026-11-15T11:00:00Z",
    by: "ada",
    reason: "a load test",
  };
  const killSwitch = { on: true, by: "bob", reason: "", unchanged: false };
  await using server = await fakeBraid(({ method }) => {
    if (method === "GetNamespace") return { ...NAMESPACE, splitsPaused: true, splitsPause };
    return method === "GetSplit" ? waiting : page([], "", { paused: [splitsPause], killSwitch });
  });
  const { url } = server;
  const paused =
    "braid: ada paused the splits of plays 1h ago: a load test; " +
    'run "braid splits resume plays" to resume\n';
  const ran = await runBraid(["splits", "ls", "plays"], { url });
  ok(ran.err.endsWith(paused), ran.err);
  match(ran.err, /^braid: the kill switch is on: no read uses a split \(bob set it\)/m);
  equal((await runBraid(["splits", "show", "plays", ...LOCATION], { url })).err, paused);
});

test("splits ls of all namespaces names them, and fits the screen", async () => {
  await using server = await fakeBraid(() => page([SPLIT]));
  const around = { url: server.url, outIsTty: true, columns: 90, env: { NO_COLOR: "1" } };
  const ran = await runBraid(["splits", "ls"], around);
  match(ran.out, /^SPLIT +NAMESPACE +STATE [^]*\nc11psr2pyb +plays +COMPLETED /);
  for (const row of ran.out.split("\n")) ok(row.length <= 90, row);
  equal(server.requests[0]?.body["namespace"], "");
});

test("a split is named by its short id instead of its partition, not by both", async () => {
  await using server = await fakeBraid(() => SPLIT);
  const { url } = server;
  for (const name of ["show", "request", "retry", "rollback", "wait"]) {
    const ran = await runBraid(["splits", name, "plays", "c11psr2pyb"], { url });
    equal(ran.code, 0, ran.err);
    const { namespace, splitId, partition } = server.requests.at(-1)?.body ?? {};
    deepEqual([namespace, splitId, partition], ["plays", "c11psr2pyb", undefined], name);
  }
  const both = await runBraid(["splits", "show", "plays", "c11psr2pyb", "--id", "x"], { url });
  equal(both.code, 2);
  match(both.err, /by its id or by flags, not by both/);
});

test("request, retry and rollback print one line", async () => {
  await using server = await fakeBraid(() => ({ ...SPLIT, state: "DETECTED", reason: "asked" }));
  const { url } = server;
  const ran = await runBraid(["splits", "rollback", "plays", "c11psr2pyb"], { url });
  equal(ran.out, "rolled back c11psr2pyb (profile:123, 2026-11-14 07:00-08:00): DETECTED, asked\n");
  await runBraid(["splits", "request", "plays", ...LOCATION, "--force"], { url });
  equal(server.requests.at(-1)?.body["force"], true);
});

test("splits wait ends when nothing is left to do, and exits 1 if any did not complete", async () => {
  const working = { ...SPLIT, state: "SPLITTING", owner: "worker-2" };
  let looks = 0;
  await using server = await fakeBraid(() => page([(looks += 1) < 3 ? working : SPLIT]));
  const { url } = server;
  const done = await runBraid(["splits", "wait", "plays"], { url });
  deepEqual([done.code, done.out, done.err], [0, "1 of 1 completed\n", ""]);
  equal(looks, 3);
  const open = { ...SPLIT, dueTime: "2026-11-15T13:00:00Z" };
  await using serving = await fakeBraid(() => page([open]));
  equal((await runBraid(["splits", "wait", "plays"], { url: serving.url })).code, 0);
  await using failing = await fakeBraid(() => page([SPLIT, { ...SPLIT, state: "FAILED" }]));
  const failed = await runBraid(["splits", "wait", "plays"], { url: failing.url });
  equal(failed.code, 1);
  equal(failed.out, "1 of 2 completed\n");
  match(failed.err, /^braid: c11psr2pyb \(profile:123, .*\): FAILED, confirmed/);
});

test("splits wait gives up in time, and says what is open", async () => {
  await using server = await fakeBraid(() =>
    page([{ ...SPLIT, state: "PLANNING", owner: "worker-2" }]),
  );
  const line = "splits wait plays --timeout 10ms".split(" ");
  const ran = await runBraid(line, { url: server.url });
  equal(ran.code, 1);
  match(ran.err, /^braid: 0 of 1 splits done after 10ms, such as c11psr2pyb /);
});

test("request, retry and rollback name the partition and the reason, and show the split", async () => {
  await using server = await fakeBraid(() => SPLIT);
  const { url } = server;
  const methods = { request: "RequestSplit", retry: "RetrySplit", rollback: "RollbackSplit" };
  for (const [name, method] of Object.entries(methods)) {
    const args = ["splits", name, "plays", ...LOCATION, "--event-bucket", "3", "--reason", "slow"];
    const ran = await runBraid([...args, "--json"], { url });
    equal(ran.code, 0, ran.err);
    deepEqual(JSON.parse(ran.out), SPLIT);
    const asked = server.requests.at(-1);
    equal(asked?.method, method);
    deepEqual(asked?.body, {
      namespace: "plays",
      partition: { ...PARTITION, eventBucket: 3 },
      reason: "slow",
    });
  }
});

test("a split that is not there exits 3 and says where to look", async () => {
  await using server = await fakeBraid((_request, response) =>
    refuse(response, 404, "SPLIT_NOT_FOUND"),
  );
  const ran = await runBraid(["splits", "show", "plays", ...LOCATION], { url: server.url });
  equal(ran.code, 3);
  match(ran.err, /braid splits ls plays$/m);
});

test("splits pause and resume say what they did, also if nothing changed, and ns get shows it", async () => {
  const pause = {
    namespace: "plays",
    since: "2026-11-15T10:00:00Z",
    by: "ada",
    reason: "a test",
  };
  let wasPaused = false;
  await using server = await fakeBraid(({ method }) =>
    method === "GetNamespace"
      ? { ...NAMESPACE, splitsPaused: true, splitsPause: pause }
      : { ...(method === "PauseSplits" && { pause }), wasPaused, tunings: [] },
  );
  const { url } = server;
  const paused = await runBraid("splits pause plays --reason test".split(" "), { url });
  match(paused.out, /^paused the splits of plays; run "braid splits resume plays" to resume\n$/);
  deepEqual(server.requests[0]?.body, { namespace: "plays", reason: "test" });
  const never = await runBraid("splits resume plays".split(" "), { url });
  equal(never.out, "the splits of plays were not paused\n");
  equal(server.requests[1]?.method, "ResumeSplits");
  wasPaused = true;
  const again = await runBraid("splits pause plays".split(" "), { url });
  equal(
    again.out,
    "the splits of plays were paused already, by ada at 2026-11-15T10:00:00Z (2h ago): a test\n",
  );
  const resumed = await runBraid("splits resume plays --json".split(" "), { url });
  deepEqual(JSON.parse(resumed.out), { wasPaused: true, tunings: [] });
  const shown = await runBraid(["ns", "get", "plays"], { url });
  match(
    shown.out,
    /^splits +read mode SHADOW; paused by ada at 2026-11-15T10:00:00Z \(2h ago\): a test$/m,
  );
});
