import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture } from "../../../tests/support/control-fixture.ts";
import { Planner } from "../../provision/planner.ts";
import { namespaceMethods } from "./namespaces.ts";
import { planMethods } from "./plan.ts";

const never = new AbortController().signal;
const WORKLOAD = {
  ids: { mid: 1_000_000 },
  eventsPerDayPerId: { low: 5, mid: 10, high: 20 },
  skew: { percentiles: [{ percentile: 50, eventsPerDay: 4 }] },
  retention: "2592000s",
  acceptLimit: "60s",
  slos: { read: { target: "0.1s" } },
  consistency: "EVENTUAL",
};

function start() {
  const fixture = new ControlFixture();
  const { namespaces } = fixture.start();
  const planner = new Planner(fixture);
  const methods = [
    ...namespaceMethods(namespaces, planner, async () => undefined),
    ...planMethods(planner),
  ];
  const call = async (name: string, body: object, signal = never) => {
    const method = methods.find(({ desc }) => desc.name === name);
    ok(method);
    const request = await method.fromJson(Buffer.from(JSON.stringify(body)));
    return JSON.parse(String(await (await request.run(signal)).json()));
  };
  return { namespaces, call };
}

test("PlanNamespace answers the same for the same request, and creates nothing", async () => {
  const { namespaces, call } = start();
  const answer = await call("PlanNamespace", { workload: WORKLOAD, worlds: 16 });
  deepEqual(await call("PlanNamespace", { workload: WORKLOAD, worlds: 16, seed: 1 }), answer);
  equal(answer.worlds, 16);
  equal(answer.seed, 1);
  equal(answer.alternatives[0].name, "public planner");
  ok(answer.chosen.p99Bytes.mid >= answer.chosen.p50Bytes.mid);
  ok(answer.infrastructure.cassandra.count >= 3);
  equal((await namespaces.list({})).namespaces.length, 0);
});

test("PlanNamespace names all problems of a request", async () => {
  const { call } = start();
  const request = {
    workload: { ids: { mid: 0 }, retention: "-1s" },
    worlds: 5_000,
    config: { timePartition: { eventBuckets: 2 } },
    hardware: { asOf: "", nodes: [], servers: [{ name: "a", cpus: 1, memoryGib: 1 }] },
  };
  await rejects(call("PlanNamespace", request), (error: Error) => {
    for (const problem of [
      /workload.retention is negative/,
      /workload.ids \(0\) must be from 1/,
      /workload.eventsPerDayPerId is required/,
      /worlds \(5000\) must be a whole number from 1 to 1024/,
      /config.timePartition and a workload exclude each other/,
      /hardware.asOf: give the day/,
      /hardware.nodes must have 1 to 100 shapes, not 0/,
    ]) {
      match(error.message, problem);
    }
    return true;
  });
  await rejects(call("PlanNamespace", {}), { code: "REQUEST_INVALID" });
});

test("CreateNamespace from a workload takes the plan, and keeps what was expected and why", async () => {
  const { call } = start();
  const config = { futureLimit: "30s", slos: { read: { target: "0.2s" } } };
  const made = await call("CreateNamespace", { namespace: "plays", workload: WORKLOAD, config });
  const planned = await call("PlanNamespace", { workload: WORKLOAD, config });
  deepEqual(made.config.timePartition, planned.chosen.timePartition);
  deepEqual(made.config.retention, { closeAfter: "2592000s", deleteAfter: "2678400s" });
  equal(made.config.acceptLimit, "60s");
  equal(made.config.futureLimit, "30s");
  equal(made.config.consistency, "EVENTUAL");
  equal(made.config.slos.read.target, "0.200s");
  const { provisioned } = await call("GetNamespace", { namespace: "plays" });
  deepEqual(provisioned.plan, planned.chosen);
  match(provisioned.why[0], /^public planner: /);
  equal(provisioned.planTime, "2026-03-28T12:00:00Z");
  const changed = await call("UpdateNamespace", {
    namespace: "plays",
    config: { futureLimit: "9s" },
  });
  deepEqual(changed.provisioned, provisioned);
});

test("O9: other work runs between the worlds of a plan", async () => {
  const { call } = start();
  let turns = 0;
  let planned = false;
  const count = (): void => {
    turns++;
    if (!planned) setImmediate(count);
  };
  setImmediate(count);
  await call("PlanNamespace", { workload: WORKLOAD, worlds: 50 });
  planned = true;
  // Each world once for all candidates, and once for each plan that is reported.
  ok(turns >= 100, `${turns} turns`);
});

test("a namespace that was created without a workload has no plan", async () => {
  const { call } = start();
  const made = await call("CreateNamespace", { namespace: "plays" });
  equal(made.provisioned, undefined);
});

test("CreateNamespace refuses a workload beside a partitioning, and creates nothing", async () => {
  const { namespaces, call } = start();
  const config = { timePartition: { eventBuckets: 2 } };
  const request = { namespace: "plays", workload: WORKLOAD, config };
  await rejects(call("CreateNamespace", request), /exclude each other: leave out one of them/);
  const wrong = { ...WORKLOAD, retention: "10s" };
  await rejects(call("CreateNamespace", { namespace: "plays", workload: wrong }), {
    code: "CONFIG_INVALID",
  });
  equal((await namespaces.list({})).namespaces.length, 0);
});

test("O9: a third plan at a time is refused; a caller that leaves makes room", async () => {
  const { call } = start();
  const leaving = new AbortController();
  const plans = [0, 1].map(() => call("PlanNamespace", { workload: WORKLOAD }, leaving.signal));
  // Each has begun when its request has been read: a turn of the loop later.
  await new Promise((resolve) => setImmediate(resolve));
  await rejects(call("PlanNamespace", { workload: WORKLOAD }), { code: "OVERLOADED" });
  leaving.abort(new Error("the caller left"));
  for (const plan of plans) await rejects(plan, /the caller left/);
  ok(await call("PlanNamespace", { workload: WORKLOAD, worlds: 1 }));
});
