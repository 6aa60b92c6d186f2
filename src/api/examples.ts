/**
 * One example of each method's request and answer. /openapi.json and /docs show them, and a test
 * checks them.
 */
import type { Example } from "./example.ts";
import { PLAN_EXAMPLES } from "./plan-examples.ts";
import { SERVER_EXAMPLES } from "./server-examples.ts";
import { QUEUE_EXAMPLES } from "./queue-examples.ts";
import { SPLIT_EXAMPLES } from "./split-examples.ts";
import { TUNING_EXAMPLES } from "./tuning-examples.ts";
import { WIDTH_MAP_EXAMPLE } from "./width-map-example.ts";

const WALKED_BYTES = {
  count: "20",
  total: "1071260",
  min: "48200",
  p50: "51012",
  p75: "51012",
  p95: "61214",
  p98: "61214",
  p99: "61214",
  max: "61214",
  buckets: [
    { upTo: "51012", count: "15" },
    { upTo: "61214", count: "5" },
  ],
};

const WALKED_EVENTS = {
  count: "20",
  total: "7200",
  min: "310",
  p50: "372",
  p75: "372",
  p95: "412",
  p98: "412",
  p99: "412",
  max: "412",
  buckets: [
    { upTo: "372", count: "15" },
    { upTo: "446", count: "5" },
  ],
};

/** /docs replaces these with the present. */
export const EXAMPLE_EVENT_TIME = "2026-11-15T10:00:00.000001Z";
export const EXAMPLE_INTERVAL = { start: "2026-11-15T10:00:00Z", end: "2026-11-15T11:00:00Z" };

const READ = {
  namespace: "plays",
  timeSeriesId: "profile:123",
  timeInterval: EXAMPLE_INTERVAL,
  order: "NEWEST_FIRST",
  pageSize: 100,
};

const EVENT = {
  timeSeriesId: "profile:123",
  eventTime: EXAMPLE_EVENT_TIME,
  eventId: "e-1",
  eventItems: [{ eventItemKey: "device", eventItemValue: "aW9z" }],
};

const CONTEXT = {
  namespace: "plays",
  timeTaken: "0.004s",
  partitionsRead: 1,
  splitPartitionsRead: 0,
  bytesRead: "64",
  partial: false,
  partialReason: "",
};

const PAGE = { records: [EVENT], nextPageToken: "", responseContext: [CONTEXT] };

const NAMESPACE = {
  namespace: "plays",
  id: "plays-0e16bdd2304ec250",
  config: {
    timePartition: { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 3_600, eventBuckets: 1 },
    acceptLimit: "600s",
    futureLimit: "60s",
    retention: { closeAfter: "1296000s", deleteAfter: "1382400s" },
  },
  epoch: "0",
  createTime: "2026-11-15T09:00:00Z",
  version: "1",
  readMode: "SHADOW",
  splitsPaused: false,
  defaultFields: ["acceptLimit", "futureLimit", "retention.closeAfter"],
};

const DELETED_NAMESPACE = {
  namespace: "plays",
  id: NAMESPACE.id,
  config: NAMESPACE.config,
  deleteTime: "2026-11-15T12:00:00Z",
  restorableUntil: "2026-11-16T12:00:00Z",
  purged: false,
  deletedBy: "ann",
  reason: "moved to shows",
  bytes: "1048576",
  events: "4096",
};

const BLOCKED = {
  timeSeriesId: "profile:666",
  reason: "a runaway client",
  expireTime: "2026-11-16T00:00:00Z",
  blockTime: "2026-11-15T10:00:00Z",
  source: "API",
};

export const EXAMPLES: Readonly<Record<string, Example>> = {
  WriteEventRecordsSync: {
    request: { namespace: "plays", events: [EVENT] },
    answer: {
      written: 0,
      failures: [
        {
          index: 0,
          code: "EVENT_TOO_OLD",
          message: "eventTime is older than the namespace's acceptLimit",
        },
      ],
      responseContext: [{ ...CONTEXT, partitionsRead: 0, bytesRead: "0" }],
    },
  },
  WriteEventRecords: {
    request: { namespace: "plays", events: [EVENT] },
    answer: {
      accepted: 1,
      failures: [],
      responseContext: [{ ...CONTEXT, partitionsRead: 0, bytesRead: "0" }],
    },
  },
  ReadEventRecords: {
    request: {
      ...READ,
      eventFilters: [{ matchEventItemKey: "device", matchEventItemValue: "aW9z" }],
    },
    answer: PAGE,
  },
  StreamEventRecords: { request: { ...READ, pageSize: 0 }, answer: PAGE },
  ExplainRead: {
    request: READ,
    answer: {
      slices: [{ timeSlice: "data_20261115", timeBuckets: 1 }],
      partitions: [
        {
          timeSlice: "data_20261115",
          timeBucket: 10,
          eventBucket: 0,
          route: "ORIGINAL_FILTER_MISS",
          why: "no partition of this slice is split",
          parts: 0,
          bytes: "64",
          events: "1",
          millis: 0.4,
          read: true,
        },
      ],
      totals: {
        partitions: "1",
        partitionsRead: 1,
        bytes: "64",
        events: "1",
        eventsReturned: "1",
        millis: 0.6,
      },
    },
  },
  CreateNamespace: {
    request: { namespace: "plays", config: { acceptLimit: "600s" } },
    answer: NAMESPACE,
  },
  GetNamespace: { request: { namespace: "plays" }, answer: NAMESPACE },
  ListNamespaces: {
    request: { pageSize: 100 },
    answer: { namespaces: [NAMESPACE], nextPageToken: "" },
  },
  UpdateNamespace: {
    request: {
      namespace: "plays",
      config: { slos: { read: { max: "2s" } } },
      reset: ["acceptLimit"],
    },
    answer: NAMESPACE,
  },
  DeleteNamespace: {
    request: { namespace: "plays", reason: "moved to shows" },
    answer: DELETED_NAMESPACE,
  },
  UndeleteNamespace: { request: { namespace: "plays" }, answer: NAMESPACE },
  ListDeletedNamespaces: {
    request: { pageSize: 100 },
    answer: { namespaces: [DELETED_NAMESPACE], nextPageToken: "" },
  },
  ListTimeSlices: {
    request: { namespace: "plays" },
    answer: {
      slices: [
        {
          name: "data_20260811",
          start: "2026-08-11T00:00:00Z",
          end: "2026-08-12T00:00:00Z",
          status: "DROPPING",
          timePartition: NAMESPACE.config.timePartition,
          bytes: "1048576",
          events: "4096",
          dropTime: "2026-11-16T00:00:05Z",
        },
      ],
    },
  },
  PurgeTimeSlice: {
    request: { namespace: "plays", timeSlice: "data_20260811" },
    answer: {
      name: "data_20260811",
      start: "2026-08-11T00:00:00Z",
      end: "2026-08-12T00:00:00Z",
      status: "DROPPED",
      timePartition: NAMESPACE.config.timePartition,
      bytes: "0",
      events: "0",
    },
  },
  UndropTimeSlice: {
    request: { namespace: "plays", timeSlice: "data_20260811" },
    answer: {
      name: "data_20260811",
      start: "2026-08-11T00:00:00Z",
      end: "2026-08-12T00:00:00Z",
      status: "CLOSED",
      timePartition: NAMESPACE.config.timePartition,
      bytes: "1048576",
      events: "4096",
      dropTime: "2026-11-16T00:00:05Z",
    },
  },
  BlockIds: {
    request: {
      namespace: "plays",
      ids: [{ timeSeriesId: "profile:666", reason: "a runaway client" }],
    },
    answer: { ids: [BLOCKED] },
  },
  UnblockIds: {
    request: { namespace: "plays", timeSeriesIds: ["profile:666"] },
    answer: { unblocked: 1 },
  },
  ListBlockedIds: {
    request: { namespace: "plays", pageSize: 100 },
    answer: { ids: [BLOCKED], nextPageToken: "" },
  },
  GetHistogram: {
    request: { namespace: "plays", timeSlice: "data_20261115", history: false },
    answer: {
      count: "20",
      buckets: [
        { upToBytes: "51012", partitions: "15" },
        { upToBytes: "61214", partitions: "5" },
      ],
      p50: "51012",
      p99: "61214",
      max: "61214",
      source: "WALK",
      timeSlice: "data_20261115",
      mean: "53563",
      asOf: "2026-11-16T00:12:00Z",
      coverage: "the whole slice, walked after it was sealed",
      tells: "the sizes of all partitions of the slice, in bytes of events as the API encodes them",
      doesNotTell: "nothing is left out",
      alternatives: [
        {
          source: "READS",
          reason: "",
          count: "2",
          p50: "50160",
          p99: "50208",
          max: "50208",
          mean: "50184",
          coverage: "2 partitions read by this server, 2 of them to the end",
          tells: "the sizes of the partitions this server has read, in bytes of events",
          doesNotTell: "partitions nobody has read, or only through other servers",
        },
      ],
      min: "48200",
      p75: "51012",
      p95: "61214",
      p98: "61214",
      walk: {
        timeSlice: "data_20261115",
        start: "2026-11-15T00:00:00Z",
        end: "2026-11-16T00:00:00Z",
        timePartition: {
          secondsPerTimeSlice: 86_400,
          secondsPerTimeBucket: 3_600,
          eventBuckets: 1,
        },
        asOf: "2026-11-16T00:12:00Z",
        source: "WALK",
        sealed: true,
        complete: true,
        excludes: [],
        bytes: WALKED_BYTES,
        events: WALKED_EVENTS,
        timeBucketBytes: WALKED_BYTES,
      },
      excludes: [],
      events: WALKED_EVENTS,
      densityMinBytes: "2097152",
      densityMaxBytes: "10485760",
      history: [],
    },
  },
  ListPartitions: {
    request: {
      namespace: "plays",
      timeSlice: "data_20261115",
      orderBy: "BYTES",
      pageSize: 20,
      bytesMin: "60000",
    },
    answer: {
      partitions: [
        {
          timeSeriesId: "profile:123",
          timeBucket: 7,
          eventBucket: 0,
          bytes: "61214",
          events: "412",
          share: 0.0571,
          exact: true,
          route: "ORIGINAL_NOT_SPLIT",
          splitId: "",
        },
      ],
      asOf: "2026-11-16T00:12:00Z",
      complete: true,
      nextPageToken: "",
      timeSlice: "data_20261115",
      totalBytes: "1071260",
      totalEvents: "7200",
      known: 20,
      matching: 1,
      coverage:
        "the 1,000 largest by bytes and by events that the last walk stored, and those with a " +
        "split; smaller ones are not listed",
    },
  },
  Watch: {
    request: { topics: ["NAMESPACES"] },
    answer: {
      cursor: "WyJzZXJ2ZXItNWYwYzJhOWQ0YjcxIiwiIix7Ik5BTUVTUEFDRVMiOjF9XQ",
      serverTime: "2026-11-15T10:00:00Z",
      process: "server-5f0c2a9d4b71",
      topic: "NAMESPACES",
      snapshot: true,
      truncated: false,
      removed: [],
      stale: "",
      ending: "",
      namespaces: [NAMESPACE],
      splits: [],
      slices: [],
      tunings: [],
      servers: [],
    },
  },
  GetWidthMap: WIDTH_MAP_EXAMPLE,
  ListIds: {
    request: { namespace: "plays", prefix: "profile:", pageSize: 100 },
    answer: {
      timeSeriesIds: ["profile:123", "profile:124"],
      nextPageToken: "",
      timeSlices: ["data_20261116", "data_20261115"],
      notSearched: 0,
    },
  },
  ...PLAN_EXAMPLES,
  ...SERVER_EXAMPLES,
  ...QUEUE_EXAMPLES,
  ...SPLIT_EXAMPLES,
  ...TUNING_EXAMPLES,
};
