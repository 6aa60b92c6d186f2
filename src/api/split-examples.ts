/** Examples of the methods on splits, read modes and comparisons: see `examples.ts`. */
import type { Example } from "./example.ts";

const PARTITION = {
  timeSlice: "data_20261114",
  timeSeriesId: "profile:123",
  timeBucket: 7,
  eventBucket: 0,
};

const OPERATOR_REQUEST = {
  namespace: "plays",
  partition: PARTITION,
  reason: "reads of it are slow",
};

const CHECKSUM = "9f2c4e1ab07d55c8d3e6f0a1b2c3d4e5";

const PART = { from: "2026-11-14T07:30:00Z", to: "2026-11-14T08:00:00Z" };

const SPLIT = {
  preSplitData: { ...PARTITION, bytes: "16000000", events: "160000", checksum: CHECKSUM },
  segments: [
    {
      from: "2026-11-14T07:00:00Z",
      to: "2026-11-14T08:00:00Z",
      state: "COMPLETED",
      generation: "1",
      postSplitData: {
        timeSlice: "wide_data_20261114_0",
        layout: "PACKED",
        strategy: "EVENT_BUCKETS",
        eventBucketPartitionStrategy: { targetEventBuckets: 2, startEventBucket: 0 },
        parts: [
          { eventBucket: 0, ...PART, bytes: "8388600", events: "83886" },
          {
            eventBucket: 1,
            from: "2026-11-14T07:00:00Z",
            to: "2026-11-14T07:30:00Z",
            bytes: "7611400",
            events: "76114",
          },
        ],
        bytes: "16000000",
        events: "160000",
        checksum: CHECKSUM,
      },
      why: "reads found it wide: at least 16,000,000 bytes in 160,000 events, the bucket is closed",
      copiedTo: "2026-11-14T07:00:00Z",
      confirmed: true,
      confirmTime: "2026-11-14T08:11:20Z",
      partBytes: "8388608",
      originalChecksum: CHECKSUM,
    },
  ],
  state: "COMPLETED",
  epoch: "0",
  latency: {
    before: { reads: "6", meanMs: 310.5, maxMs: 802 },
    after: { reads: "6", meanMs: 6.2, maxMs: 19.4 },
  },
  history: [
    {
      at: "2026-11-14T08:10:40Z",
      by: "worker-5f0c2a9d4b71",
      to: "DETECTED",
      cause: "detection",
      reason: "a read saw 16,000,000 bytes in 160,000 events",
      times: 1,
    },
    {
      at: "2026-11-14T08:11:10Z",
      by: "worker-5f0c2a9d4b71",
      from: "COMPLETED",
      to: "COMPLETED",
      cause: "confirmed",
      reason: "confirmed: a second read of the original agrees with the copy",
      times: 1,
    },
  ],
  namespace: "plays",
  reason: "confirmed: a second read of the original agrees with the copy",
  detectTime: "2026-11-14T08:10:40Z",
  owner: "",
  failures: 0,
  held: false,
  heldBy: "",
  immutable: true,
  version: "9",
  splitId: "c11psr2pyb",
  bucketStart: "2026-11-14T07:00:00Z",
  bucketEnd: "2026-11-14T08:00:00Z",
  attempts: "1",
  heartbeat: "0",
  moveTime: "2026-11-14T08:11:10Z",
};

const SUMMARY = {
  namespace: "plays",
  states: [{ state: "COMPLETED", count: "1" }],
  before: {
    count: "1",
    total: "16000000",
    min: "16000000",
    p50: "16000000",
    p75: "16000000",
    p95: "16000000",
    p98: "16000000",
    p99: "16000000",
    max: "16000000",
    buckets: [{ upTo: "17436917", count: "1" }],
  },
  after: {
    count: "2",
    total: "16000000",
    min: "7611400",
    p50: "8388600",
    p75: "8388600",
    p95: "8388600",
    p98: "8388600",
    p99: "8388600",
    max: "8388600",
    buckets: [{ upTo: "8409004", count: "2" }],
  },
  partsEstimated: "0",
  divertedBytes: "16000000",
  storageBytes: "15400000",
  unreadable: "0",
};

/** The split without its parts. */
const LISTED = {
  ...SPLIT,
  segments: SPLIT.segments.map((segment) => ({
    ...segment,
    postSplitData: { ...segment.postSplitData, parts: [] },
  })),
};

const UNREAD = { ...SPLIT.preSplitData, checksum: "" };

const ASKED = { at: "2026-11-15T10:00:00Z", by: "operator" };

/** A split on which no work is done yet. */
function operatorExample(reason: string): Example["answer"] {
  return {
    ...SPLIT,
    preSplitData: UNREAD,
    segments: [],
    state: "DETECTED",
    latency: { before: NOT_MEASURED, after: NOT_MEASURED },
    reason,
    history: [{ ...ASKED, to: "DETECTED", cause: "operator", reason, times: 1 }],
    dueTime: "2026-11-15T10:00:00Z",
  };
}

const NOT_MEASURED = { reads: "0", meanMs: 0, maxMs: 0 };

const KILL_SWITCH = {
  on: true,
  setTime: "2026-11-15T10:00:00Z",
  by: "ana@ops-1",
  reason: "looking into a difference",
  unchanged: false,
};

const CLOCK_IN_DOUBT = {
  inDoubt: true,
  believedTime: "2026-11-15T10:00:00Z",
  leap: "3600s",
  evenFor: "5s",
  message: "this machine's clock is 3,600 s ahead of the time that Braid saw pass",
};

const SWITCHED_OFF = { on: false, by: "", reason: "", unchanged: false };

const PAUSE = {
  since: "2026-11-15T10:00:00Z",
  by: "ana@ops-1",
  reason: "a load test",
  namespace: "plays",
};

const READ_MODE = {
  mode: "SHADOW",
  evidence: [
    {
      layout: "PACKED",
      strategy: "EVENT_BUCKETS",
      readsCompared: "41",
      bytesMatched: "20971520",
      bytesDiffered: "0",
      splitsCompared: "3",
      since: "2026-11-14T08:12:00Z",
    },
  ],
  nextMode: "COMPARE",
  blockedBy: "PACKED/1 EVENT_BUCKETS: 41 of at least 100 reads compared",
  autoAdvance: true,
  since: "2026-11-14T08:00:00Z",
  by: "braid",
  reason: "initial mode of every namespace",
  killSwitch: SWITCHED_OFF,
  splitsPause: PAUSE,
};

export const SPLIT_EXAMPLES: Readonly<Record<string, Example>> = {
  ListSplits: {
    request: { namespace: "plays", state: "COMPLETED", pageSize: 100 },
    answer: {
      splits: [LISTED],
      nextPageToken: "",
      killSwitch: SWITCHED_OFF,
      paused: [PAUSE],
      unreadable: "0",
      examinedAll: true,
    },
  },
  GetSplitSummary: {
    request: { namespace: "plays" },
    answer: {
      total: { ...SUMMARY, namespace: "" },
      namespaces: [SUMMARY],
      nextPageToken: "",
      countTime: "2026-11-15T09:59:30Z",
    },
  },
  GetSplit: { request: { namespace: "plays", partition: PARTITION }, answer: SPLIT },
  RequestSplit: {
    request: OPERATOR_REQUEST,
    answer: operatorExample("requested: reads of it are slow"),
  },
  RetrySplit: {
    request: OPERATOR_REQUEST,
    answer: operatorExample("retried: reads of it are slow"),
  },
  RollbackSplit: {
    request: OPERATOR_REQUEST,
    answer: {
      ...SPLIT,
      preSplitData: UNREAD,
      segments: [],
      state: "INVALIDATED",
      reason: "rolled back: reads of it are slow",
      history: [
        ...SPLIT.history,
        {
          ...ASKED,
          from: "COMPLETED",
          to: "INVALIDATED",
          cause: "operator",
          reason: "rolled back: reads of it are slow",
          times: 1,
        },
      ],
      held: true,
      heldBy: "operator",
    },
  },
  PauseSplits: {
    request: { namespace: "plays", reason: "a load test" },
    answer: { pause: PAUSE, wasPaused: false },
  },
  ResumeSplits: {
    request: { namespace: "plays", reason: "it is over" },
    answer: { wasPaused: true },
  },
  StartVerify: {
    request: { namespace: "plays", timeSlice: "data_20261114" },
    answer: { verifyId: "1794736800000000-5f0c2a9d" },
  },
  GetVerify: {
    request: { namespace: "plays", verifyId: "1794736800000000-5f0c2a9d" },
    answer: {
      state: "DONE",
      eventsCompared: "160000",
      bytesCompared: "16000000",
      differences: [
        {
          partition: PARTITION,
          kind: "only in original",
          eventTime: "2026-11-14T07:12:00.000001Z",
          eventId: "e-1",
          detail: "100 bytes",
        },
      ],
      differencesFound: "1",
      verifyId: "1794736800000000-5f0c2a9d",
      namespace: "plays",
      splitsDone: "1",
      splitsTotal: "1",
      startTime: "2026-11-15T10:00:00Z",
      endTime: "2026-11-15T10:00:02Z",
      reason: "",
      bytesTotal: "16000000",
      eventsTotal: "160000",
      owner: "",
    },
  },
  GetReadMode: { request: { namespace: "plays" }, answer: READ_MODE },
  SetReadMode: {
    request: { namespace: "plays", mode: "SHADOW", force: false, reason: "begin again" },
    answer: READ_MODE,
  },
  GetKillSwitch: { request: {}, answer: KILL_SWITCH },
  SetKillSwitch: {
    request: { on: true, reason: "looking into a difference" },
    answer: KILL_SWITCH,
  },
  GetStatus: {
    request: {},
    answer: {
      version: "0.1.0",
      build: "source",
      nodeVersion: "v24.11.1",
      engine: "embedded",
      queue: "embedded",
      process: "server-5f0c2a9d4b71",
      startTime: "2026-11-15T09:00:00Z",
      uptime: "3600s",
      ready: true,
      notReady: "",
      killSwitch: SWITCHED_OFF,
      paused: [PAUSE],
      namespaces: 1,
      oldestViewAge: "1.200s",
      viewMaxAge: "10s",
      splits: [{ state: "COMPLETED", count: "1" }],
      splitsTime: "2026-11-15T09:59:30Z",
      serverTime: "2026-11-15T10:00:00Z",
      clock: CLOCK_IN_DOUBT,
      disk: {
        freeBytes: "53687091200",
        freeBytesMin: "268435456",
        readOnly: false,
        message: "",
      },
    },
  },
  GetMetricsHistory: {
    request: { resolution: "MINUTE", series: ["reads", "read_latency."] },
    answer: {
      process: "server-5f0c2a9d4b71",
      processStartTime: "2026-11-15T09:57:30Z",
      step: "60s",
      startTime: "2026-11-15T09:57:00Z",
      samples: 3,
      series: [
        { name: "read_latency.p99", unit: "s", values: ["NaN", 0.004096, 0.012] },
        { name: "reads", unit: "1/s", values: [0, 81.5, 79.2] },
      ],
      namespaces: ["plays"],
    },
  },
  ConfirmClock: { request: {}, answer: CLOCK_IN_DOUBT },
};
