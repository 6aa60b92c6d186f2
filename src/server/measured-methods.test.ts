import { doesNotMatch, equal, match, rejects } from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import { Metrics } from "../lib/metrics.ts";
import type { EventReader } from "../read/read-events.ts";
import type { ReadQuery } from "../read/read-query.ts";
import { DEFAULT_READ_LIMITS } from "../read/read-limits.ts";
import { CONTRACT_EVENT_LIMITS } from "../wire/event-limits.ts";
import type { WriteBatch } from "../wire/write-request.ts";
import { LiveLatency } from "./live-latency.ts";
import { measuredReading, measuredWriting, requestObserver } from "./measured-methods.ts";
import { ReadLatencies } from "./read-latencies.ts";
import { declareServerMetrics } from "./server-metrics.ts";

const { signal } = new AbortController();
const PROBLEM = { problem: "EVENT_INVALID", message: "" } as const;
const BATCH: WriteBatch = { namespace: "plays", events: [PROBLEM, PROBLEM, PROBLEM], bytes: 1 };
const exists = (name: string): boolean => name === "plays";

function writing(metrics: Metrics, write: () => Promise<never>) {
  const result = {
    taken: 1,
    failures: [
      { index: 0, code: "EVENT_TOO_OLD", message: "" },
      { index: 1, code: "ID_BLOCKED", message: "" },
    ],
    timeTakenMs: 1,
  } as const;
  const limits = CONTRACT_EVENT_LIMITS;
  const inner = { limits, requestBytesMax: 1_024, write, enqueue: () => Promise.resolve(result) };
  return measuredWriting(inner, declareServerMetrics(metrics), exists);
}

test("events refused one by one are counted by their codes", async () => {
  const metrics = new Metrics();
  await writing(metrics, () => Promise.reject(new Error("not asked"))).enqueue(BATCH);
  const text = await metrics.text();
  match(text, /braid_refused_events_total\{namespace="plays",code="EVENT_TOO_OLD"\} 1\n/);
  match(text, /braid_refused_events_total\{namespace="plays",code="ID_BLOCKED"\} 1\n/);
});

test("events refused with their batch are counted by its code", async () => {
  const metrics = new Metrics();
  const { write } = writing(metrics, () =>
    Promise.reject(new ServiceError("STORAGE_UNAVAILABLE", "away")),
  );
  await rejects(write(BATCH, signal), { code: "STORAGE_UNAVAILABLE" });
  await rejects(write({ ...BATCH, namespace: "made-up" }, signal));
  const text = await metrics.text();
  match(text, /braid_refused_events_total\{namespace="plays",code="STORAGE_UNAVAILABLE"\} 3\n/);
  match(text, /braid_refused_events_total\{namespace="",code="STORAGE_UNAVAILABLE"\} 3\n/);
  doesNotMatch(text, /made-up/);
});

test("pages that ended early are counted", async () => {
  const metrics = new Metrics();
  const measures = declareServerMetrics(metrics);
  for (const partial of [true, false]) {
    const context = {
      namespace: "plays",
      timeTakenMs: 1,
      partitionsRead: 1,
      splitPartitionsRead: 0,
      bytesRead: 1,
      partial,
      partialReason: "",
    };
    const page = { chunks: [], count: 2, nextPageToken: "", wide: true, context };
    const reader: Pick<EventReader, "readPage" | "stream" | "explain"> = {
      readPage: () => Promise.resolve(page),
      stream: () => {
        throw new Error("not asked");
      },
      explain: () => Promise.reject(new Error("not asked")),
    };
    const latency = new LiveLatency(systemClock);
    const latencies = new ReadLatencies(systemClock);
    const reading = measuredReading(reader, DEFAULT_READ_LIMITS, measures, latency, latencies);
    const query: Partial<ReadQuery> = { namespace: "plays" };
    await reading.readPage(query as ReadQuery, signal); // The reader above does not use it.
    equal(latencies.recent("plays")?.reads, 1);
  }
  const text = await metrics.text();
  match(text, /braid_partial_returns_total\{namespace="plays"\} 1\n/);
  match(text, /braid_read_events_total\{namespace="plays"\} 4\n/);
  match(text, /braid_read_seconds_count\{namespace="plays",route="wide_original"\} 2\n/);
});

test("a namespace that does not exist never becomes a label", async () => {
  const metrics = new Metrics();
  const observe = requestObserver(declareServerMetrics(metrics), exists);
  observe("GetNamespace", "NAMESPACE_NOT_FOUND", "made-up", 5);
  observe("GetNamespace", "OK", "plays", 5);
  const text = await metrics.text();
  match(text, /\{method="GetNamespace",code="NAMESPACE_NOT_FOUND",namespace=""\} 1\n/);
  match(text, /\{method="GetNamespace",code="OK",namespace="plays"\} 1\n/);
  doesNotMatch(text, /made-up/);
});
