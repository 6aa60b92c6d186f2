import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { fakeBraid, refuse } from "../../tests/support/fake-braid.ts";
import { runBraid } from "../../tests/support/fake-terminal.ts";
import { EXAMPLES } from "../api/examples.ts";

// The answers that the API's documents show. A test of their own sees to it that they are answers.
const READ_MODE = EXAMPLES["GetReadMode"]?.answer;
const KILL_SWITCH = EXAMPLES["GetKillSwitch"]?.answer;

test("modes get shows the mode, its evidence, and what it waits for", async () => {
  await using server = await fakeBraid(() => READ_MODE);
  const { url } = server;
  const ran = await runBraid(["modes", "get", "plays"], { url });
  equal(ran.code, 0, ran.err);
  equal(
    ran.out,
    `mode      SHADOW
since     2026-11-14T08:00:00Z (1d ago), by braid: initial mode of every namespace
next      COMPARE: PACKED/1 EVENT_BUCKETS: 41 of at least 100 reads compared
advances  by itself, on evidence
LAYOUT  STRATEGY       READS COMPARED   EQUAL  DIFFERENT  SPLITS  SINCE
PACKED  EVENT_BUCKETS              41  20 MiB        0 B       3  2026-11-14T08:12:00Z (1d ago)
`,
  );
  deepEqual(
    JSON.parse((await runBraid(["modes", "get", "plays", "--json"], { url })).out),
    READ_MODE,
  );
});

test("modes get of the last mode, with no evidence", async () => {
  const { nextMode: _nextMode, ...last } = READ_MODE ?? {};
  const answer = { ...last, mode: "SERVE", evidence: [], blockedBy: "", autoAdvance: false };
  await using server = await fakeBraid(() => answer);
  const ran = await runBraid(["modes", "get", "plays"], { url: server.url });
  match(ran.out, /^next +none\nno evidence in this mode yet\n$/m);
});

test("modes set sends only the given fields", async () => {
  await using server = await fakeBraid(() => READ_MODE);
  const { url } = server;
  const cases: readonly (readonly [string, object])[] = [
    ["modes set plays serve", { mode: "SERVE", force: false, reason: "" }],
    ["modes set plays OFF --force --reason why", { mode: "OFF", force: true, reason: "why" }],
    [
      "modes set plays shadow --no-auto-advance",
      { mode: "SHADOW", force: false, autoAdvance: false, reason: "" },
    ],
    [
      "modes set plays shadow --auto-advance",
      { mode: "SHADOW", force: false, autoAdvance: true, reason: "" },
    ],
  ];
  for (const [line, expected] of cases) {
    const ran = await runBraid(line.split(" "), { url });
    equal(ran.code, 0, ran.err);
    deepEqual(server.requests.at(-1)?.body, { namespace: "plays", ...expected }, line);
  }
});

test("a mode that the evidence does not allow is reported with what to do, without a retry hint", async () => {
  await using server = await fakeBraid((_request, response) =>
    refuse(response, 409, "CONFLICT", {
      headers: { "retry-after": "1" },
      message: "41 of at least 100 reads compared",
    }),
  );
  const ran = await runBraid("modes set plays serve".split(" "), { url: server.url });
  equal(ran.code, 4);
  equal(
    ran.err,
    "braid: 41 of at least 100 reads compared; --force skips the evidence\n  (CONFLICT)\n",
  );
  await using stepwise = await fakeBraid((_request, response) =>
    refuse(response, 409, "CONFLICT", { message: "set COMPARE first, or set the mode with force" }),
  );
  const again = await runBraid("modes set plays serve".split(" "), { url: stepwise.url });
  equal(again.err, "braid: set COMPARE first, or set the mode with --force\n  (CONFLICT)\n");
});

test("kill-switch on, off and status", async () => {
  await using server = await fakeBraid(({ method, body }) =>
    method === "SetKillSwitch"
      ? { ...KILL_SWITCH, on: body["on"] }
      : { on: false, by: "", reason: "" },
  );
  const { url } = server;
  const on = await runBraid("kill-switch on --reason why".split(" "), { url });
  equal(
    on.out,
    "kill switch  ON: every read uses originals\n" +
      "set          2026-11-15T10:00:00Z (2h ago), by ana@ops-1: looking into a difference\n",
  );
  deepEqual(server.requests[0]?.body, { on: true, reason: "why" });
  const off = await runBraid("kill-switch off --json".split(" "), { url });
  deepEqual(JSON.parse(off.out), { ...KILL_SWITCH, on: false });
  deepEqual(server.requests[1]?.body, { on: false, reason: "" });
  const status = await runBraid(["kill-switch", "status"], { url });
  deepEqual(await runBraid(["kill-switch", "get"], { url }), status);
  equal(status.out, "kill switch  off\nset          never\n");
});

test("while the kill switch is on, or splits are paused, modes get says so", async () => {
  const splitsPause = {
    namespace: "plays",
    since: "2026-11-15T11:00:00Z",
    by: "ada",
    reason: "a load test",
  };
  await using server = await fakeBraid(() => ({
    ...READ_MODE,
    killSwitch: { ...KILL_SWITCH, on: true, by: "ana@ops-1", reason: "" },
    splitsPause,
  }));
  const ran = await runBraid(["modes", "get", "plays"], { url: server.url });
  equal(ran.code, 0);
  match(ran.out, /^mode +SHADOW, but the kill switch is on$/m);
  match(
    ran.err,
    /^braid: the kill switch is on: no read uses a split \(ana@ops-1 set it 2h ago\)/m,
  );
  match(
    ran.err,
    /^braid: ada paused the splits of plays 1h ago: a load test; run "braid splits resume plays"/m,
  );
});

test("kill-switch on a second time keeps the first reason, and says so", async () => {
  await using server = await fakeBraid(() => ({ ...KILL_SWITCH, unchanged: true }));
  const ran = await runBraid("kill-switch on --reason other".split(" "), { url: server.url });
  match(ran.out, /by ana@ops-1: looking into a difference\n/);
  match(
    ran.err,
    /^braid: it was already on; it keeps the time, operator and reason of the first request\n$/,
  );
});
