import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { fakeBraid } from "../../tests/support/fake-braid.ts";
import { runBraid } from "../../tests/support/fake-terminal.ts";
import { EXAMPLES } from "../api/examples.ts";

// The answers that the API's documents show. A test of their own sees to it that they are right.
const answerOf = (method: string): object => EXAMPLES[method]?.answer as object;

test("queue show prints what waits, the rates and the dead letters", async () => {
  await using server = await fakeBraid(() => answerOf("GetQueue"));
  const ran = await runBraid(["queue", "show"], { url: server.url });
  equal(ran.code, 0, ran.err);
  match(ran.out, /^queue +kafka, seen by server-5f0c2a9d4b71$/m);
  match(ran.out, /^waiting +3, the oldest since 2026-11-15T09:59:58Z/m);
  match(ran.out, /^rate +0.5\/s published, 0.4\/s handled, over 60s$/m);
  match(ran.out, /^dead letters +1$/m);
  match(ran.out, /^braid.detections +3 +3 +\S+$/m);
  match(ran.err, /braid queue dead/);
});

test("queue dead lists dead letters, and what operators did last", async () => {
  await using server = await fakeBraid(() => answerOf("ListDeadDetections"));
  const { url } = server;
  const ran = await runBraid(["queue", "dead"], { url });
  equal(ran.code, 0, ran.err);
  match(ran.out, /^0:17 +\S+ +yes +plays\|data_20261115\|profile:123\|9\|0 +14 +version: must/m);
  match(ran.err, /ana@ops-1 dropped 2 at 2026-11-15T09:00:00Z: from a test/);
  const asJson = await runBraid(["queue", "dead", "--json"], { url });
  const { deadDetections, actions } = answerOf("ListDeadDetections") as Record<string, unknown>;
  deepEqual(JSON.parse(asJson.out), { deadDetections, actions });
});

test("queue replay and drop name what they have done and what is missing", async () => {
  let more = true;
  await using server = await fakeBraid(({ body }) => {
    const answer = { ...answerOf("DropDeadDetections"), more: body["all"] === true && more };
    more = false;
    return answer;
  });
  const { url } = server;
  const replayed = await runBraid(["queue", "replay", "0:17", "0:3", "--reason", "new"], { url });
  equal(replayed.code, 0, replayed.err);
  equal(replayed.out, "replayed 1 dead letter\n");
  match(replayed.err, /no dead letter at 0:3/);
  deepEqual(server.requests[0]?.body, { positions: ["0:17", "0:3"], all: false, reason: "new" });
  more = true;
  const dropped = await runBraid(["queue", "drop", "--all", "--reason", "a test"], { url });
  equal(dropped.out, "dropped 2 dead letters\n");
  deepEqual(server.requests[1]?.body, { positions: [], all: true, reason: "a test" });
});

test("queue replay and drop refuse a request that is not clear, and exit 3 if nothing is there", async () => {
  const nothing = { count: "0", missing: ["0:3"], notKept: [], more: false };
  await using server = await fakeBraid(() => nothing);
  const { url } = server;
  const usages = [
    ["queue", "replay"],
    ["queue", "replay", "0:1", "--all"],
    ["queue", "drop", "0:1"],
  ];
  for (const usage of usages) equal((await runBraid(usage, { url })).code, 2, usage.join(" "));
  deepEqual(server.requests, []);
  equal((await runBraid(["queue", "replay", "0:3"], { url })).code, 3);
});
