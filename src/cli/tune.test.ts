import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { fakeBraid } from "../../tests/support/fake-braid.ts";
import { runBraid } from "../../tests/support/fake-terminal.ts";
import { NAMESPACE } from "../../tests/support/namespace-json.ts";
import { EXAMPLES } from "../api/examples.ts";

const LIST = EXAMPLES["ListTunings"]?.answer as { tunings: readonly object[] };
const DECIDED = EXAMPLES["DecideTuning"]?.answer;
const REMEDIES = EXAMPLES["GetRemedies"]?.answer;

test("tune ls shows each tuning, and what to do with one that waits", async () => {
  await using server = await fakeBraid(() => LIST);
  const ran = await runBraid(["tune", "ls", "plays"], { url: server.url });
  equal(ran.code, 0, ran.err);
  match(ran.out, /^20261114 +PROPOSED +2026-11-15T10:00:00Z .*60s -> 86400s/m);
  match(ran.out, /a proposal waits: braid tune show plays 20261114/);
});

test("ns get says that a proposal waits, and nothing once it is decided", async () => {
  let namespace = { ...NAMESPACE, waitingTuning: "20261114" };
  await using server = await fakeBraid(() => namespace);
  const { url } = server;
  const waits = await runBraid(["ns", "get", "plays"], { url });
  equal(waits.code, 0, waits.err);
  match(waits.out, /^tuning: a proposal waits: braid tune show plays 20261114, /m);
  const json = await runBraid(["ns", "get", "plays", "-o", "json"], { url });
  equal(JSON.parse(json.out).waitingTuning, "20261114");
  namespace = NAMESPACE as typeof namespace; // Without one that waits.
  doesNotMatch((await runBraid(["ns", "get", "plays"], { url })).out, /proposal/);
});

test("tune ls says why nothing would be proposed, also in words it does not know", async () => {
  let nothingWhy = "FITS";
  await using server = await fakeBraid(() => ({ tunings: [], nothingWhy }));
  const { url } = server;
  const fits = await runBraid(["tune", "ls", "plays"], { url });
  match(fits.out, /no tuning yet\nnothing to propose: partitions have the target size/);
  nothingWhy = "OFF";
  const off = await runBraid(["tune", "ls", "plays"], { url });
  match(
    off.out,
    /^nothing to propose: tuning is off; run: braid ns update plays --set tuning\.mode=PROPOSE$/m,
  );
  nothingWhy = "ANOTHER_REASON";
  match((await runBraid(["tune", "dry-run", "plays"], { url })).out, /ANOTHER_REASON/);
});

test("tune dry-run has neither a state nor a history: nothing is stored", async () => {
  const next = { ...LIST.tunings[0], id: "", state: "UNSPECIFIED", history: [] };
  await using server = await fakeBraid(() => ({ tunings: [], next, nothingWhy: "" }));
  const ran = await runBraid(["tune", "dry-run", "plays"], { url: server.url });
  equal(ran.code, 0, ran.err);
  match(ran.out, /^proposed +1\.4 MiB/m);
  doesNotMatch(ran.out, /state|UNSPECIFIED|PROPOSED|WHEN/);
});

test("tune dry-run names the proposal that waits, as tune ls and the doctor do", async () => {
  const list = { ...LIST, next: undefined, nothingWhy: "DECIDED_BEFORE" };
  await using server = await fakeBraid(() => list);
  const ran = await runBraid(["tune", "dry-run", "plays"], { url: server.url });
  match(ran.out, /a proposal waits: braid tune show plays 20261114/);
  doesNotMatch(ran.out, /nothing to propose/);
});

test("tune show has the dry run and the history, and an unknown id is not found", async () => {
  await using server = await fakeBraid(() => LIST);
  const { url } = server;
  const ran = await runBraid(["tune", "show", "plays", "20261114"], { url });
  equal(ran.code, 0, ran.err);
  match(ran.out, /^now +1 KiB +4 KiB +8 KiB +1,440$/m);
  match(ran.out, /^proposed +1\.4 MiB +5 MiB +7 MiB +1$/m);
  match(ran.out, /^2026-11-15T10:00:00Z .*tuner +PROPOSED/m);
  doesNotMatch(ran.out, /first slice/);
  const unknown = await runBraid(["tune", "show", "plays", "nothing"], { url });
  equal(unknown.code, 3);
  match(unknown.err, /braid tune ls plays/);
});

test("tune show says from when on slices have what was applied", async () => {
  await using server = await fakeBraid(() => ({ tunings: [DECIDED], nothingWhy: "" }));
  const ran = await runBraid(["tune", "show", "plays", "20261114"], { url: server.url });
  match(ran.out, /^first slice +begins 2026-11-17T00:00:00Z/m);
});

test("tune accept and refuse send the decision with its reason", async () => {
  await using server = await fakeBraid(() => DECIDED);
  const { url } = server;
  const accepted = await runBraid(["tune", "accept", "plays", "20261114", "--reason", "why"], {
    url,
  });
  equal(accepted.code, 0, accepted.err);
  match(
    accepted.out,
    /^accepted 20261114: .*; the first slice that has it begins 2026-11-17T00:00:00Z\n$/,
  );
  const sent = { namespace: "plays", id: "20261114", accept: true, reason: "why" };
  deepEqual(server.requests.at(-1)?.body, sent);
  await runBraid(["tune", "refuse", "plays", "20261114"], { url });
  deepEqual(server.requests.at(-1)?.body, { ...sent, accept: false, reason: "" });
});

test("doctor prints the remedy, the reason and the command", async () => {
  await using server = await fakeBraid(() => REMEDIES);
  const { url } = server;
  const ran = await runBraid(["doctor", "plays"], { url });
  equal(ran.code, 0, ran.err);
  match(
    ran.out,
    /^RETUNE +most partitions are too small\n.*\n +\$ braid tune accept plays 20261114\n$/,
  );
  deepEqual(JSON.parse((await runBraid(["doctor", "plays", "--json"], { url })).out), REMEDIES);
});
