/** Examples of the methods on the queue of detections: see `examples.ts`. */
import type { Example } from "./example.ts";

const LETTER = {
  position: "0:17",
  reason: "version: must be a whole number, as text",
  time: "2026-11-15T09:58:00Z",
  key: "plays|data_20261115|profile:123|9|0",
  value: "eyJ2ZXJzaW9uIjotMX0=",
  valueBytes: "14",
  kept: true,
  origin: "braid.detections/3/1042",
  detection: {
    namespace: "plays",
    partition: {
      timeSlice: "data_20261115",
      timeSeriesId: "profile:123",
      timeBucket: 9,
      eventBucket: 0,
    },
    immutable: true,
    epoch: "0",
    bytes: "10485761",
    events: "4321",
    detectTime: "2026-11-15T09:57:59Z",
  },
};

const ANSWER = { count: "1", missing: ["0:3"], notKept: [], more: false };

export const QUEUE_EXAMPLES: Readonly<Record<string, Example>> = {
  GetQueue: {
    request: {},
    answer: {
      queue: "kafka",
      waiting: "3",
      oldestTime: "2026-11-15T09:59:58Z",
      publishedPerSecond: 0.5,
      handledPerSecond: 0.4,
      rateOver: "60s",
      inFlight: "0",
      buffered: "0",
      partitions: [
        {
          topic: "braid.detections",
          partition: 3,
          waiting: "3",
          oldestTime: "2026-11-15T09:59:58Z",
        },
      ],
      deadLetters: "1",
      process: "server-5f0c2a9d4b71",
    },
  },
  ListDeadDetections: {
    request: { pageSize: 100 },
    answer: {
      deadDetections: [LETTER],
      nextPageToken: "",
      actions: [
        {
          time: "2026-11-15T09:00:00Z",
          by: "ana@ops-1",
          action: "dropped",
          count: "2",
          reason: "from a test",
        },
      ],
    },
  },
  ReplayDeadDetections: {
    request: { positions: ["0:17", "0:3"], reason: "this version can decode them" },
    answer: ANSWER,
  },
  DropDeadDetections: { request: { all: true, reason: "from a test" }, answer: ANSWER },
};
