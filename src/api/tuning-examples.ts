/** Examples of the methods on tunings and remedies: see `examples.ts`. */
import type { Example } from "./example.ts";

const OBSERVED =
  "most partitions are too small: 99 % have at most 8KiB, the target is 2MiB to 10MiB";

const PROPOSED = {
  id: "20261114",
  state: "PROPOSED",
  direction: "WIDEN",
  evidence: ["data_20261113", "data_20261114"],
  observed: OBSERVED,
  proposed: "time_bucket interval: 60s -> 86400s",
  from: { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 60, eventBuckets: 1 },
  to: { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 86_400, eventBuckets: 1 },
  dryRun: {
    before: { p50: "1024", p95: "4096", p99: "8192" },
    after: { p50: "1474560", p95: "5242880", p99: "7340032" },
    partitionsPerDayBefore: "1440",
    partitionsPerDayAfter: "1",
    keptLongerSeconds: "0",
    keptLongerBytes: "0",
  },
  history: [
    {
      at: "2026-11-15T10:00:00Z",
      by: "tuner",
      to: "PROPOSED",
      why: OBSERVED,
    },
  ],
  why: OBSERVED,
};

export const TUNING_EXAMPLES: Readonly<Record<string, Example>> = {
  GetRemedies: {
    request: { namespace: "plays" },
    answer: {
      remedies: [
        {
          problem: "most partitions are too small",
          remedy: "RETUNE",
          why: OBSERVED + "; a proposal waits: time_bucket interval: 60s -> 86400s",
          command: "braid tune accept plays 20261114",
        },
      ],
    },
  },
  ListTunings: {
    request: { namespace: "plays" },
    answer: { tunings: [PROPOSED], nothingWhy: "DECIDED_BEFORE" },
  },
  DecideTuning: {
    request: { namespace: "plays", id: "20261114", accept: true, reason: "reads touch too much" },
    answer: {
      ...PROPOSED,
      state: "APPLIED",
      effectiveFrom: "2026-11-17T00:00:00Z",
      history: [
        ...PROPOSED.history,
        {
          at: "2026-11-15T11:00:00Z",
          by: "ada@example.com",
          to: "APPLIED",
          why: "reads touch too much",
        },
      ],
      why: "reads touch too much",
    },
  },
};
