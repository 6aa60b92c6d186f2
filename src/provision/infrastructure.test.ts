import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { planned } from "../../tests/support/planned.ts";
import { Problems } from "../lib/problems.ts";
import { BUILT_IN_HARDWARE, checkHardware } from "./hardware.ts";
import { infrastructureFor, staffed } from "./infrastructure.ts";
import type { Demand } from "./infrastructure.ts";
import type { WorkloadInput } from "./workload.ts";

const GIB = 2 ** 30;
const DEMAND: Demand = {
  diskBytes: 0,
  nodeCores: 0,
  serverCores: 0,
  splitBytesPerSecond: 0,
  peakReadsPerSecond: 0,
  peakWritesPerSecond: 0,
};
const SHAPE = { name: "big", cpus: 8, memoryGib: 64, diskGib: 1_000, monthlyCost: 100 };
const HARDWARE = { asOf: "2030-01-01", nodes: [SHAPE], servers: [SHAPE] };

test("square-root staffing: the margin grows more slowly than the load", () => {
  equal(staffed(100), 100 + 17.61);
  ok(staffed(400) / 400 < staffed(100) / 100);
});

test("the nodes of the remaining zones carry the load of a lost one", () => {
  const demands = [{ ...DEMAND, nodeCores: 96 }];
  const one = infrastructureFor(demands, { replication: 1, zones: 1 }, HARDWARE);
  const three = infrastructureFor(demands, { replication: 3, zones: 3 }, HARDWARE);
  equal(one.cassandra.count, 12);
  equal(three.cassandra.count, 18);
  ok(((three.cassandra.count * 2) / 3) * SHAPE.cpus >= 96);
  equal(three.cassandra.decidedBy, "cpu");
});

test("disks are planned half full, in whole nodes for each zone, and never below the replicas", () => {
  const demands = [{ ...DEMAND, diskBytes: 1_600 * GIB }];
  const { cassandra } = infrastructureFor(demands, { replication: 3, zones: 3 }, HARDWARE);
  equal(cassandra.count, 6);
  equal(cassandra.decidedBy, "disk");
  const idle = infrastructureFor([DEMAND], { replication: 3, zones: 1 }, HARDWARE);
  equal(idle.cassandra.count, 3);
});

test("a hardware table of the user's own decides shapes and is named by its day", () => {
  const small = { name: "small", cpus: 4, memoryGib: 32, diskGib: 1_000, monthlyCost: 10 };
  const hardware = { ...HARDWARE, nodes: [SHAPE, small] };
  const workload: WorkloadInput = { ids: { mid: 1e6 }, eventsPerDayPerId: { mid: 1_000 } };
  const { infrastructure } = planned(workload, { hardware });
  equal(infrastructure.cassandra.shape.name, "small");
  equal(infrastructure.hardwareAsOf, "2030-01-01");
  equal(planned(workload).infrastructure.hardwareAsOf, BUILT_IN_HARDWARE.asOf);
});

test("growth needs more machines, and a small workload fits one", () => {
  const workload: WorkloadInput = { ids: { mid: 1e6 }, eventsPerDayPerId: { mid: 5_000 } };
  const grown = { ...workload, growthPercentPerMonth: { mid: 10 } };
  const [now, later] = [planned(workload).infrastructure, planned(grown).infrastructure];
  ok(later.diskBytes > now.diskBytes * 3);
  ok(!now.fitsOneMachine);
  const small: WorkloadInput = {
    ids: { mid: 1_000 },
    eventsPerDayPerId: { mid: 100 },
    readsPerSecond: { mid: 10 },
  };
  ok(planned(small).infrastructure.fitsOneMachine);
});

test("a hardware table with problems names all of them", () => {
  const problems = new Problems();
  const wrong = { name: "", cpus: 0, memoryGib: 1, diskGib: 0, monthlyCost: -1 };
  equal(checkHardware({ asOf: "", nodes: [wrong], servers: [] }, problems), undefined);
  equal(problems.count, 6, problems.list().join("\n"));
});
