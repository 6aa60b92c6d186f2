/** The examples of provisioning. */
import type { Example } from "./example.ts";

const band = (low: number, mid: number, high: number): object => ({ low, mid, high });

const CHOSEN = {
  timePartition: { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 43_200, eventBuckets: 1 },
  regret: 0.13,
  costs: { reads: 0.3, wide: 0.1, hotSpots: 0, disk: 0.1, tables: 0.04 },
  p50Bytes: band(7_475, 83_763, 467_968),
  p99Bytes: band(220_160, 2_621_440, 14_155_776),
  maxBytes: band(11_010_048, 129_708_851, 841_797_632),
  idsBeyondLimit: band(0, 0.0007, 0.02),
  readsBeyondLimit: band(0, 0.022, 0.12),
  bytesBeyondLimit: band(0, 0.043, 0.21),
  partitionsPerRead: band(1.8, 2.3, 2.9),
  readOverheadMs: band(0.9, 1.2, 1.5),
  peakWritesPerPartition: band(2, 16, 90),
  tables: 66,
  diskBytes: band(3.5e12, 4e13, 2.8e14),
};

const SHAPE = { name: "i4i.8xlarge", cpus: 32, memoryGib: 244, diskGib: 6_985, monthlyCost: 0 };

const EXAMPLE_WORKLOAD = {
  ids: { low: 500_000, mid: 1_000_000, high: 3_000_000, confidence: 0.8 },
  eventsPerDayPerId: { low: 100, mid: 1_000, high: 5_000 },
  skew: { distribution: "LOGNORMAL", parameter: { mid: 1.5 } },
  eventBytes: { mid: 512 },
  burstiness: { mid: 3 },
  readIntervalSeconds: { mid: 86_400 },
  readsPerSecond: { mid: 500 },
  retention: "2592000s",
  growthPercentPerMonth: { mid: 4 },
};

export const PLAN_EXAMPLES: Readonly<Record<string, Example>> = {
  PlanNamespace: {
    request: { workload: EXAMPLE_WORKLOAD, seed: 1 },
    answer: {
      chosen: CHOSEN,
      alternatives: [
        {
          name: "default",
          plan: { ...CHOSEN, regret: 1.1, partitionsPerRead: band(12, 17, 23) },
          whyNot: "a read touches 17 partitions (8.6 ms) instead of 2.3",
        },
      ],
      infrastructure: {
        hardwareAsOf: "2026-11-18",
        zones: 3,
        replication: 3,
        cassandra: { shape: SHAPE, count: 63, decidedBy: "disk" },
        servers: {
          shape: { name: "c7a.large", cpus: 2, memoryGib: 4, diskGib: 0, monthlyCost: 0 },
          count: 24,
          decidedBy: "cpu",
        },
        workers: {
          shape: { name: "c7a.large", cpus: 2, memoryGib: 4, diskGib: 0, monthlyCost: 0 },
          count: 2,
          decidedBy: "zones",
        },
        peakReadsPerSecond: 2_402,
        peakWritesPerSecond: 267_546,
        diskBytes: 2.2e14,
        fitsOneMachine: false,
      },
      notes: ["eventsPerRead is not given: assumed 1000"],
      seed: 1,
      worlds: 256,
      candidates: 728,
    },
  },
};
