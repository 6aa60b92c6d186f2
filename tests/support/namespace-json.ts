/** A namespace with all defaults, as the API answers it. */
import type { Namespace, NamespaceConfig } from "../../client/connect.ts";

export const CONFIG: NamespaceConfig = {
  timePartition: { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 3_600, eventBuckets: 1 },
  acceptLimit: "600s",
  futureLimit: "60s",
  retention: { closeAfter: "1296000s", deleteAfter: "1382400s" },
  slos: { read: { target: "0.5s", max: "1s" }, write: { target: "0.05s", max: "0.5s" } },
  consistency: "READ_YOUR_WRITES",
  widePartition: {
    detect: true,
    bytesMax: "10485760",
    eventsMax: "100000",
    targetBytes: "8388608",
    maxParts: 4096,
    layout: "PACKED",
    strategy: "AUTO",
    whenHarmless: "SPLIT",
  },
  tuning: { mode: "PROPOSE", densityMinBytes: "2097152", densityMaxBytes: "10485760" },
};

export const NAMESPACE: Namespace = {
  namespace: "plays",
  id: "0f3c",
  config: CONFIG,
  epoch: "0",
  createTime: "2026-11-15T12:00:00Z",
  version: "1",
  readMode: "SHADOW",
  splitsPaused: false,
  defaultFields: [],
};
