import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { ListSplitsRequestSchema, Split_State, SplitSchema } from "../../gen/braid/v1/split_pb.js";
import type { SplitDetail, SplitLocation, SplitUseCases } from "../../splits/use-cases.ts";
import type { Distribution } from "../../model/size-histogram.ts";
import type { SplitSummary } from "../../model/split-summary.ts";
import { NO_LATENCY, PARTS_PER_PARTITION } from "../../model/split.ts";
import type { PartRecord, Segment, SplitRecord } from "../../model/split.ts";
import { splitIdOf } from "../../records/split-ids.ts";
import type { Caller } from "../caller.ts";
import { EXAMPLES } from "../examples.ts";
import { splitMethods } from "./splits.ts";

const never = new AbortController().signal;
const HOUR = 3_600_000_000;
const START = Date.UTC(2026, 10, 14, 7) * 1000;

const PARTITION = { timeSlice: "data_20261114", timeSeriesId: "p", timeBucket: 7, eventBucket: 2 };

const SEGMENT: Segment = {
  from: START,
  to: START + HOUR,
  epoch: 4,
  state: "COMPLETED",
  generation: 3,
  layout: "PACKED",
  strategy: "EVENT_BUCKETS",
  why: "it is wide",
  partBytes: 8_388_608,
  partsPlanned: 0,
  partRanges: [
    { start: 5, count: 1 },
    { start: 9, count: 1 },
  ],
  copiedTo: START,
  bytes: 300,
  events: 30,
  checksum: "c1",
  copyChecksum: "c2",
  confirmedAt: START + 2 * HOUR,
};

const RECORD: SplitRecord = {
  partition: {
    namespaceId: "plays-1",
    slice: "data_20261114",
    seriesId: "p",
    timeBucket: 7,
    eventBucket: 2,
  },
  namespace: "plays",
  state: "SPLITTING",
  epoch: 4,
  bytes: 350,
  events: 35,
  immutable: false,
  detectedAt: START,
  segments: [
    SEGMENT,
    {
      ...SEGMENT,
      from: START + HOUR,
      to: START + 2 * HOUR,
      state: "SPLITTING",
      generation: 4,
      partRanges: [],
      copiedTo: START + 2 * HOUR,
      bytes: 100,
      events: 10,
      checksum: "",
      copyChecksum: undefined,
      confirmedAt: null,
    },
  ],
  fence: 2,
  owner: { by: "worker-1", heartbeat: 3 },
  nextPart: 10,
  nextGeneration: 5,
  failures: 1,
  dueAt: START + 3 * HOUR,
  heldBy: null,
  askedBy: null,
  latency: { before: { reads: 2, meanMs: 1.5, maxMs: 2 }, after: NO_LATENCY },
  history: [
    {
      at: START,
      by: "server-1",
      from: null,
      to: "DETECTED",
      cause: "detection",
      reason: "wide",
      times: 1,
    },
    {
      at: START + 1,
      by: "worker-1",
      from: "DETECTED",
      to: "SPLITTING",
      cause: "claim",
      reason: "copying",
      times: 2,
    },
  ],
  version: 12,
};

function part(number: number, from: number, to: number): PartRecord {
  const kept = { blocks: 1, blockBytesMax: 100, digest: "d" };
  return { part: number, from, to, bytes: 150, events: 15, ...kept };
}

const DETAIL: SplitDetail = {
  record: RECORD,
  parts: [[part(5, START + HOUR / 2, START + HOUR), part(9, START, START + HOUR / 2)]],
  bucket: { start: START, end: START + HOUR },
};

const LOCATION: SplitLocation = {
  namespace: "plays",
  timeSlice: "data_20261114",
  seriesId: "p",
  timeBucket: 7,
  eventBucket: 2,
};

const PAUSE = { namespace: "plays", at: START, by: "bo", reason: "load" };

const SIZES: Distribution = { count: 1, total: 300, min: 300, max: 300, buckets: [[310, 1]] };
const SUMMARY: SplitSummary = {
  states: new Map([["COMPLETED", 1]]),
  before: SIZES,
  after: SIZES,
  partsEstimated: 0,
  divertedBytes: 300,
  storageBytes: 290,
  unreadable: 1,
};

/** Use cases that record their calls. */
function fakes(): { splits: SplitUseCases; calls: unknown[][] } {
  const calls: unknown[][] = [];
  const seen =
    <T>(name: string, answer: T) =>
    (...args: unknown[]): Promise<T> => {
      calls.push([name, ...args]);
      return Promise.resolve(answer);
    };
  return {
    calls,
    splits: {
      list: seen("list", {
        splits: [{ ...DETAIL, parts: [] }],
        nextPageToken: "more",
        killSwitch: { on: true, at: START, by: "ana", reason: "a difference" },
        paused: [PAUSE],
        unreadable: 2,
        examinedAll: false,
      }),
      newest: seen("newest", {
        splits: [],
        nextPageToken: "",
        killSwitch: { on: true, at: START, by: "ana", reason: "a difference" },
        paused: [],
        unreadable: 0,
        examinedAll: true,
      }),
      summary: seen("summary", {
        total: { ...SUMMARY, countedAt: START },
        namespaces: [{ ...SUMMARY, namespace: "plays" }],
        nextPageToken: "more",
      }),
      get: seen("get", DETAIL),
      locate: seen("locate", LOCATION),
      request: seen("request", DETAIL),
      retry: seen("retry", DETAIL),
      rollback: seen("rollback", DETAIL),
      pause: seen("pause", { pause: PAUSE, wasPaused: true }),
      resume: seen("resume", true),
    },
  };
}

async function ask(
  splits: SplitUseCases,
  name: string,
  value: object,
  caller?: Caller,
): Promise<Record<string, unknown>> {
  const method = splitMethods(splits).find(({ desc }) => desc.name === name);
  const body = Buffer.from(JSON.stringify(value));
  const answer = await (await method?.fromJson(body, caller))?.run(never);
  return JSON.parse(String(await answer?.json())) as Record<string, unknown>;
}

test("a split has the contract's shape and what operators need besides", async () => {
  const answer = await ask(fakes().splits, "GetSplit", {
    namespace: "plays",
    partition: PARTITION,
  });
  const bucket = (number: number): number => 2 * PARTS_PER_PARTITION + number;
  deepEqual(answer, {
    preSplitData: { ...PARTITION, bytes: "400", events: "40", checksum: "c1" },
    segments: [
      {
        from: "2026-11-14T07:00:00Z",
        to: "2026-11-14T08:00:00Z",
        state: "COMPLETED",
        generation: "3",
        postSplitData: {
          timeSlice: "wide_data_20261114_0",
          layout: "PACKED",
          strategy: "EVENT_BUCKETS",
          eventBucketPartitionStrategy: { targetEventBuckets: 2, startEventBucket: bucket(5) },
          parts: [
            {
              eventBucket: bucket(5),
              from: "2026-11-14T07:30:00Z",
              to: "2026-11-14T08:00:00Z",
              bytes: "150",
              events: "15",
            },
            {
              eventBucket: bucket(9),
              from: "2026-11-14T07:00:00Z",
              to: "2026-11-14T07:30:00Z",
              bytes: "150",
              events: "15",
            },
          ],
          bytes: "300",
          events: "30",
          checksum: "c2",
        },
        why: "it is wide",
        copiedTo: "2026-11-14T07:00:00Z",
        confirmed: true,
        confirmTime: "2026-11-14T09:00:00Z",
        partBytes: "8388608",
        originalChecksum: "c1",
      },
      {
        from: "2026-11-14T08:00:00Z",
        to: "2026-11-14T09:00:00Z",
        state: "SPLITTING",
        generation: "4",
        postSplitData: {
          timeSlice: "wide_data_20261114_0",
          layout: "PACKED",
          strategy: "EVENT_BUCKETS",
          eventBucketPartitionStrategy: { targetEventBuckets: 0, startEventBucket: 0 },
          parts: [],
          bytes: "100",
          events: "10",
          checksum: "",
        },
        why: "it is wide",
        copiedTo: "2026-11-14T09:00:00Z",
        confirmed: false,
        partBytes: "8388608",
        originalChecksum: "",
      },
    ],
    state: "SPLITTING",
    epoch: "4",
    latency: {
      before: { reads: "2", meanMs: 1.5, maxMs: 2 },
      after: { reads: "0", meanMs: 0, maxMs: 0 },
    },
    history: [
      {
        at: "2026-11-14T07:00:00Z",
        by: "server-1",
        to: "DETECTED",
        cause: "detection",
        reason: "wide",
        times: 1,
      },
      {
        at: "2026-11-14T07:00:00.000001Z",
        by: "worker-1",
        from: "DETECTED",
        to: "SPLITTING",
        cause: "claim",
        reason: "copying",
        times: 2,
      },
    ],
    namespace: "plays",
    reason: "copying",
    detectTime: "2026-11-14T07:00:00Z",
    dueTime: "2026-11-14T10:00:00Z",
    owner: "worker-1",
    failures: 1,
    held: false,
    heldBy: "",
    immutable: false,
    version: "12",
    splitId: splitIdOf(RECORD.partition),
    bucketStart: "2026-11-14T07:00:00Z",
    bucketEnd: "2026-11-14T08:00:00Z",
    progress: {
      step: "COPY",
      bytesDone: "100",
      bytesTotal: "350",
      eventsDone: "10",
      eventsTotal: "35",
      totalExact: false,
    },
    attempts: "2",
    heartbeat: "3",
    moveTime: "2026-11-14T07:00:00.000001Z",
  });
});

test("the summary has states, sizes before and after, and the cost, in total and by namespace", async () => {
  const { splits, calls } = fakes();
  const answer = await ask(splits, "GetSplitSummary", { pageSize: 5, pageToken: "t" });
  deepEqual(calls, [["summary", "", { pageSize: 5, pageToken: "t" }]]);
  const size = "300";
  const sizes = {
    count: "1",
    total: size,
    min: size,
    p50: size,
    p75: size,
    p95: size,
    p98: size,
    p99: size,
    max: size,
    buckets: [{ upTo: "310", count: "1" }],
  };
  const sum = {
    states: [{ state: "COMPLETED", count: "1" }],
    before: sizes,
    after: sizes,
    partsEstimated: "0",
    divertedBytes: "300",
    storageBytes: "290",
    unreadable: "1",
  };
  deepEqual(answer, {
    total: { namespace: "", ...sum },
    namespaces: [{ namespace: "plays", ...sum }],
    nextPageToken: "more",
    countTime: "2026-11-14T07:00:00Z",
  });
});

test("a list takes several states, or the newest first without a token", async () => {
  const { splits, calls } = fakes();
  const states = ["FAILED", "PARKED"];
  await ask(splits, "ListSplits", { states });
  await ask(splits, "ListSplits", { states, order: "NEWEST_FIRST", pageSize: 7 });
  deepEqual(calls, [
    ["list", "", { states: new Set(states), pageSize: 100, pageToken: "" }],
    ["newest", "", { states: new Set(states), pageSize: 7 }],
  ]);
  await rejects(ask(splits, "ListSplits", { state: "FAILED", states, pageSize: 2_000 }), {
    message: /give state or states, but not both; pageSize/,
  });
  await rejects(ask(splits, "ListSplits", { order: "NEWEST_FIRST", pageToken: "t" }), {
    message: /has one page, so give no pageToken/,
  });
});

test("an unfinished split has no due time, owner or holder unless it has one, over gRPC too", async () => {
  const { splits } = fakes();
  const record: SplitRecord = { ...RECORD, dueAt: null, owner: null, heldBy: "operator" };
  const held = { ...splits, get: () => Promise.resolve({ record, parts: [], bucket: undefined }) };
  const method = splitMethods(held).find(({ desc }) => desc.name === "GetSplit");
  const request = { value: { namespace: "plays", partition: PARTITION }, bytes: 0 };
  const answer = await (
    await method?.fromJson(Buffer.from(JSON.stringify(request.value)))
  )?.run(never);
  const bytes = await answer?.binary();
  const copy = new Uint8Array(bytes?.byteLength ?? 0);
  bytes?.copy(copy, 0);
  const message = fromBinary(SplitSchema, copy);
  deepEqual(
    [message.dueTime, message.owner, message.held, message.heldBy],
    [undefined, "", true, "operator"],
  );
  equal(message.history[0]?.from, undefined);
  equal(message.history[1]?.from, Split_State.DETECTED);
});

test("an operator request reaches its use case with partition, operator and reason", async () => {
  const { splits, calls } = fakes();
  const operatorRequest = { by: "operator", reason: "slow" };
  for (const name of ["Request", "Retry", "Rollback"]) {
    const request = { namespace: "plays", partition: PARTITION, reason: "slow" };
    equal((await ask(splits, `${name}Split`, request))["state"], "SPLITTING");
    const force = name === "Request" ? { force: false } : {};
    deepEqual(calls.pop(), [name.toLowerCase(), LOCATION, { ...operatorRequest, ...force }]);
  }
  for (const name of ["Pause", "Resume"]) {
    const request = { namespace: "plays", reason: "slow" };
    equal((await ask(splits, `${name}Splits`, request))["wasPaused"], true);
    deepEqual(calls.pop(), [name.toLowerCase(), "plays", operatorRequest]);
  }
  await ask(splits, "GetSplit", { namespace: "plays", partition: PARTITION });
  deepEqual(calls.pop(), ["get", LOCATION]);
});

test("a request can name a split by its id, and can be forced", async () => {
  const { splits, calls } = fakes();
  const request = { namespace: "plays", splitId: "c11psr2pyb" };
  for (const name of ["Get", "Retry", "Rollback"]) {
    await ask(splits, `${name}Split`, request);
    deepEqual(calls.splice(0)[0], ["locate", "plays", "c11psr2pyb"]);
  }
  await ask(splits, "RequestSplit", { ...request, force: true });
  deepEqual(calls.pop(), ["request", LOCATION, { by: "operator", reason: "", force: true }]);
  const both = { ...request, partition: PARTITION };
  await rejects(ask(splits, "GetSplit", both), { message: /^give partition or splitId, not both/ });
  await rejects(ask(splits, "GetSplit", { splitId: "profile:123" }), {
    message: /^namespace is missing; splitId is not the id of a split/,
  });
});

test("the operator is the name that the caller claims, if it fits one line", async () => {
  const { splits, calls } = fakes();
  const request = { namespace: "plays", partition: PARTITION, reason: "slow" };
  const by = async (operator: string): Promise<unknown> => {
    await ask(splits, "RetrySplit", request, { operator });
    return calls.pop()?.[2];
  };
  deepEqual(await by("ana@ops-1"), { by: "ana@ops-1", reason: "slow" });
  deepEqual(await by("x"), { by: "x", reason: "slow" });
  deepEqual(await by("Ana of ops"), { by: "Ana of ops", reason: "slow" });
  deepEqual(await by(""), { by: "operator", reason: "slow" });
  deepEqual(await by("x".repeat(128)), { by: "x".repeat(128), reason: "slow" });
  for (const operator of ["x".repeat(129), "a\nb", "a\u0000", " a", "a\u202eb", "\u001b[31m"]) {
    await rejects(by(operator), {
      code: "REQUEST_INVALID",
      message: "braid-operator must be at most 128 printable ASCII characters",
    });
  }
});

test("a list is requested by state and page, with a default page size", async () => {
  const { splits, calls } = fakes();
  const page = await ask(splits, "ListSplits", { namespace: "plays", state: "FAILED" });
  equal(page["nextPageToken"], "more");
  equal((page["splits"] as unknown[]).length, 1);
  equal(page["unreadable"], "2");
  const at = "2026-11-14T07:00:00Z";
  deepEqual(
    [page["killSwitch"], page["paused"]],
    [
      { on: true, setTime: at, by: "ana", reason: "a difference", unchanged: false },
      [{ namespace: "plays", since: at, by: "bo", reason: "load" }],
    ],
  );
  deepEqual(calls.pop(), [
    "list",
    "plays",
    { states: new Set(["FAILED"]), pageSize: 100, pageToken: "" },
  ]);
  const request = { namespace: "plays", page_size: 7, pageToken: "t" };
  await ask(splits, "ListSplits", request);
  deepEqual(calls.pop(), ["list", "plays", { states: undefined, pageSize: 7, pageToken: "t" }]);
  await rejects(ask(splits, "ListSplits", { namespace: "plays", pageSize: 1_001 }), {
    code: "REQUEST_INVALID",
  });
  await rejects(ask(splits, "ListSplits", { namespace: "plays", state: "DONE" }), {
    code: "REQUEST_INVALID",
    message: /^state "DONE" is not known; use DETECTED or PLANNING or /,
  });
  // Any number can arrive over gRPC.
  const method = splitMethods(splits).find(({ desc }) => desc.name === "ListSplits");
  const odd = create(ListSplitsRequestSchema, { namespace: "plays", state: 99 as Split_State });
  await rejects(
    async () => (await method?.fromBinary(toBinary(ListSplitsRequestSchema, odd)))?.run(never),
    {
      code: "REQUEST_INVALID",
      message: /state must be DETECTED or PLANNING or /,
    },
  );
  equal(calls.length, 0);
});

test("one error names every problem of an operator request, and nothing changes", async () => {
  const { splits, calls } = fakes();
  const partition = { timeSlice: "s".repeat(65), timeSeriesId: "é".repeat(257), timeBucket: 1 };
  const request = { namespace: "plays", partition, reason: "x".repeat(1_025) };
  await rejects(ask(splits, "RetrySplit", request), {
    code: "REQUEST_INVALID",
    message:
      "partition.timeSeriesId has 514 bytes, the limit is 512; " +
      "partition.timeSlice is longer than any name of a slice (for example data_20260328); " +
      "reason has 1025 characters, the limit is 1024",
  });
  for (const name of ["GetSplit", "RequestSplit", "RetrySplit", "RollbackSplit"]) {
    await rejects(ask(splits, name, { namespace: "plays" }), {
      message: /^partition is missing/,
    });
    await rejects(ask(splits, name, { namespace: "plays", partition: {} }), {
      message: "partition.timeSeriesId is missing; partition.timeSlice is missing",
    });
  }
  for (const name of ["PauseSplits", "ResumeSplits"]) {
    await rejects(ask(splits, name, { namespace: "plays", reason: "x".repeat(1_025) }), {
      code: "REQUEST_INVALID",
    });
  }
  equal(calls.length, 0);
});

test("the documented example has every field of a split", async () => {
  const answer = await ask(fakes().splits, "GetSplit", {
    namespace: "plays",
    partition: PARTITION,
  });
  const fields = (value: object): string[] => Object.keys(value).toSorted();
  const { dueTime: _dueTime, progress: _progress, ...told } = answer;
  deepEqual(fields(EXAMPLES["GetSplit"]?.answer ?? {}), fields(told));
});
