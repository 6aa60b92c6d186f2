/** Counts and times writes, reads and requests. */
import type { Outcome } from "../api/error-map.ts";
import type { ReadMethods } from "../api/methods/read-events.ts";
import type { Writing } from "../api/methods/write-events.ts";
import { ServiceError } from "../lib/errors.ts";
import type { EventReader } from "../read/read-events.ts";
import type { ReadPage } from "../read/read-page.ts";
import type { ReadLimits } from "../read/read-limits.ts";
import type { WriteBatch } from "../wire/write-request.ts";
import type { WriteResult } from "../write/write-events.ts";
import type { LiveLatency } from "./live-latency.ts";
import type { ReadLatencies } from "./read-latencies.ts";
import type { ServerMetrics } from "./server-metrics.ts";

/** A failed read counts as at least this long, where splitting slows down for slow reads. */
const FAILED_READ_MS = 5_000;

/** Counts refused events, single ones or whole batches. */
export function measuredWriting(
  { limits, requestBytesMax, write, enqueue }: Writing,
  { refused }: Pick<ServerMetrics, "refused">,
  namespaceExists: (name: string) => boolean,
): Writing {
  const count = async (batch: WriteBatch, writing: Promise<WriteResult>): Promise<WriteResult> => {
    const { namespace } = batch;
    try {
      const result = await writing;
      for (const { code } of result.failures) refused.add(1, namespace, code);
      return result;
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : "INTERNAL";
      // A name that a caller invented must not become a label.
      refused.add(batch.events.length, namespaceExists(namespace) ? namespace : "", code);
      throw error;
    }
  };
  return {
    limits,
    requestBytesMax,
    write: (batch, signal) => count(batch, write(batch, signal)),
    enqueue: (batch) => count(batch, enqueue(batch)),
  };
}

export function measuredReading(
  reader: Pick<EventReader, "readPage" | "stream" | "explain">,
  limits: ReadLimits,
  measures: Pick<ServerMetrics, "readEvents" | "readSeconds" | "partialReturns">,
  latency: LiveLatency,
  latencies: Pick<ReadLatencies, "note">,
): ReadMethods {
  const count = (page: ReadPage): ReadPage => {
    const { namespace, timeTakenMs, splitPartitionsRead, partial } = page.context;
    measures.readEvents.add(page.count, namespace);
    const original = page.wide ? "wide_original" : "original";
    const route = splitPartitionsRead > 0 ? "split" : original;
    measures.readSeconds.observe(timeTakenMs / 1000, namespace, route);
    latencies.note(namespace, timeTakenMs);
    if (partial) measures.partialReturns.add(1, namespace);
    return page;
  };
  return {
    limits,
    readPage: async (query, signal) =>
      count(await latency.measure(FAILED_READ_MS, () => reader.readPage(query, signal))),
    stream: async function* (query, signal) {
      for await (const page of reader.stream(query, signal)) {
        latency.note(page.context.timeTakenMs);
        yield count(page);
      }
    },
    explain: (query, signal) => reader.explain(query, signal),
  };
}

/** Only a namespace that exists may become a label. */
export function requestObserver(
  {
    requests,
    requestSeconds,
    refusalSeconds,
  }: Pick<ServerMetrics, "requests" | "requestSeconds" | "refusalSeconds">,
  namespaceExists: (name: string) => boolean,
): (method: string, outcome: Outcome, namespace: string, ms: number) => void {
  return (method, outcome, namespace, ms) => {
    const known = namespace !== "" && namespaceExists(namespace);
    requests.add(1, method, outcome, known ? namespace : "");
    requestSeconds.observe(ms / 1000, method);
    if (outcome === "OVERLOADED") refusalSeconds.observe(ms / 1000);
  };
}
