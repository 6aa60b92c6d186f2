import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { fakeBraid, refuse } from "../../tests/support/fake-braid.ts";
import type { Answer } from "../../tests/support/fake-braid.ts";
import { runBraid } from "../../tests/support/fake-terminal.ts";
import { EXAMPLES } from "../api/examples.ts";
import type { Verification } from "../../client/connect.ts";

// The answer that the API's documents show. A test of their own sees to it that it is one.
const DIFFERENT = EXAMPLES["GetVerify"]?.answer as unknown as Verification;
const EQUAL: Verification = { ...DIFFERENT, differences: [], differencesFound: "0" };
const RUNNING: Verification = { ...EQUAL, state: "RUNNING", splitsDone: "0" };

/** Answers GetVerify with each of these in turn, and then with the last. */
function answering(...found: readonly Verification[]): Answer {
  let asked = 0;
  return ({ method }) =>
    method === "StartVerify" ? { verifyId: "v-1" } : found[Math.min(asked++, found.length - 1)];
}

test("verify waits until it is done, and exits 0 if all is equal", async () => {
  await using server = await fakeBraid(answering(RUNNING, RUNNING, EQUAL));
  const ran = await runBraid(["verify", "plays"], { url: server.url });
  equal(ran.code, 0, ran.err);
  equal(ran.err, "");
  equal(
    ran.out,
    `verify       1794736800000000-5f0c2a9d
state        DONE
compared     1 of 1 splits, 160,000 events, 15.3 MiB
from         2026-11-15T10:00:00Z to 2026-11-15T10:00:02Z
differences  none
`,
  );
  deepEqual(
    server.requests.map(({ method, body }) => [method, body]),
    [
      ["StartVerify", { namespace: "plays" }],
      ...[1, 2, 3].map(() => ["GetVerify", { namespace: "plays", verifyId: "v-1" }]),
    ],
  );
});

test("verify that compared nothing says so, and has an exit code of its own", async () => {
  const nothing = { ...EQUAL, splitsTotal: "0", splitsDone: "0", eventsCompared: "0" };
  await using server = await fakeBraid(answering(nothing));
  const ran = await runBraid(["verify", "plays"], { url: server.url });
  equal(ran.code, 5);
  match(ran.out, /^compared +nothing$/m);
  match(ran.out, /^differences +unknown: nothing was compared$/m);
  match(ran.err, /^braid: nothing was compared: .*braid splits ls plays$/m);
});

test("verify takes the short id of a split", async () => {
  await using server = await fakeBraid(answering(EQUAL));
  equal((await runBraid(["verify", "plays", "c11psr2pyb"], { url: server.url })).code, 0);
  deepEqual(server.requests[0]?.body, { namespace: "plays", splitId: "c11psr2pyb" });
});

test("verify shows what differs and exits 1", async () => {
  const found = { ...DIFFERENT, differencesFound: "12" };
  await using server = await fakeBraid(answering(found));
  const { url } = server;
  const ran = await runBraid(["verify", "plays"], { url });
  equal(ran.code, 1);
  match(ran.out, /^differences +12, the first 1 below$/m);
  match(
    ran.out,
    /^profile:123 +data_20261114 +7 +0 +2026-11-14T07:12:00.000001Z +e-1 +only in original +100 bytes$/m,
  );
  const asJson = await runBraid(["verify", "plays", "--json"], { url });
  equal(asJson.code, 1);
  deepEqual(JSON.parse(asJson.out), found);
});

test("verify that could not be done exits 1 with the reason", async () => {
  for (const state of ["FAILED", "STOPPED"] as const) {
    await using server = await fakeBraid(answering({ ...EQUAL, state, reason: "it is away" }));
    const ran = await runBraid(["verify", "plays"], { url: server.url });
    equal(ran.code, 1);
    match(ran.out, new RegExp(`^state +${state}: it is away$`, "m"));
  }
});

test("verify takes a slice or a partition, need not wait, and can be followed later", async () => {
  await using server = await fakeBraid(answering(EQUAL));
  const { url } = server;
  const started = await runBraid("verify plays --slice data_20261114 --no-wait".split(" "), {
    url,
  });
  equal(started.out, "v-1\n");
  deepEqual(server.requests[0]?.body, { namespace: "plays", timeSlice: "data_20261114" });
  equal(server.requests.length, 1);
  const line =
    "verify plays --slice data_20261114 --id p --time-bucket 7 --event-bucket 2 --no-wait --json";
  const one = await runBraid(line.split(" "), { url });
  deepEqual(JSON.parse(one.out), { verifyId: "v-1" });
  deepEqual(server.requests[1]?.body, {
    namespace: "plays",
    partition: { timeSlice: "data_20261114", timeSeriesId: "p", timeBucket: 7, eventBucket: 2 },
  });
  equal((await runBraid("verify plays --follow v-7".split(" "), { url })).code, 0);
  deepEqual(
    server.requests.slice(2).map(({ method, body }) => [method, body]),
    [["GetVerify", { namespace: "plays", verifyId: "v-7" }]],
  );
});

test("a comparison that is not there exits 3", async () => {
  await using server = await fakeBraid((_request, response) =>
    refuse(response, 404, "VERIFY_NOT_FOUND"),
  );
  const ran = await runBraid("verify plays --follow v-7".split(" "), { url: server.url });
  equal(ran.code, 3);
  match(ran.err, /start one: braid verify plays$/m);
});

test("Ctrl-C leaves a comparison to the server, says how to see it again, and exits 130", async () => {
  const arrived = Promise.withResolvers<undefined>();
  const answer = answering(RUNNING);
  await using server = await fakeBraid((request, response) => {
    if (request.method === "GetVerify") arrived.resolve(undefined);
    return answer(request, response);
  });
  const around = { url: server.url, interrupt: arrived.promise };
  const ran = await runBraid(["verify", "plays"], around);
  equal(ran.code, 130);
  match(ran.err, /braid verify plays --follow v-1\n$/);
});
