/**
 * Composes the reads of a server: the reader, the parts that learn from each read, and the metrics.
 */
import { LRUCache } from "lru-cache";
import type { ReadMethods } from "../api/methods/read-events.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import type { PartitionOpener } from "../partition/partition-source.ts";
import type { AheadOutcome } from "../read/ahead-memory.ts";
import { PageTokens } from "../read/page-tokens.ts";
import { EventReader } from "../read/read-events.ts";
import { DEFAULT_READ_LIMITS } from "../read/read-limits.ts";
import type { ReadLimits } from "../read/read-limits.ts";
import { ReadSizes } from "../read/read-sizes.ts";
import { loadTokenKey } from "../records/token-key.ts";
import { DetectionEmitter } from "../splits/detect/detection-emitter.ts";
import type { ServiceConfig } from "./config.ts";
import type { LiveLatency } from "./live-latency.ts";
import { ReadActivity } from "./read-activity.ts";
import type { ReadLatencies } from "./read-latencies.ts";
import { measuredReading } from "./measured-methods.ts";
import type { ServerContext } from "./server-context.ts";
import { tracedOpener } from "./traced-opener.ts";

const FAN_OUTS_SHOWN_MAX = 4_096;

export interface Reading {
  readonly methods: ReadMethods;
  /** The sizes of partitions, as the reads saw them. */
  readonly sizes: ReadSizes;
}

export async function startReading(
  context: ServerContext,
  opener: PartitionOpener,
  latency: LiveLatency,
  latencies: ReadLatencies,
): Promise<Reading> {
  const { config, runtime, parts, measures } = context;
  const { clock, random, tracing } = runtime;
  const { catalog, views, margins } = parts;
  const budget = new ByteBudget(config.server.read_memory / 2);
  const streamBudget = new ByteBudget(config.server.read_memory / 2);
  const sizes = new ReadSizes({ clock });
  const emitter = newEmitter(context);
  const activity = new ReadActivity({
    catalog,
    clock,
    time: parts.time,
    onFailed: (error) => runtime.log.warn({ err: error }, "could not record that it was read"),
  });
  const limits = readLimitsOf(config);
  /** Of namespaces that were read; deleted ones are left out when they are shown. */
  const fanOuts = new LRUCache<string, number>({ max: FAN_OUTS_SHOWN_MAX });
  measures.readFanOut.from(function* () {
    for (const namespace of parts.metrics.namespaces()) {
      const value = fanOuts.peek(namespace);
      if (value !== undefined) yield { value, labels: [namespace] };
    }
  });
  const reader = new EventReader({
    clock,
    views,
    opener: tracing === undefined ? opener : tracedOpener(opener, tracing.tracer),
    search: parts.store,
    budget,
    streamBudget,
    tokens: new PageTokens(await loadTokenKey(catalog, random)),
    limits,
    ...(catalog.shared && {
      others: { clockSkewMicros: margins.clockSkew.micros, refreshView: parts.changed },
    }),
    onPartitionRead: (read) => {
      measures.partitionBytes.observe(read.bytes, read.view.namespace.name);
      emitter.note(read, read.view);
      sizes.note(read);
      activity.note(read.view.namespace.id);
    },
    onReadAhead: ({ namespace, fanOut, bytesOf }) => {
      fanOuts.set(namespace, fanOut);
      const { USED, LEFT, RECALLED, WITHDRAWN, FAILED } = bytesOf;
      const add = (bytes: number, outcome: Lowercase<AheadOutcome>): void => {
        if (bytes > 0) measures.readAheadBytes.add(bytes, namespace, outcome);
      };
      add(USED, "used");
      add(LEFT, "left");
      add(RECALLED, "recalled");
      add(WITHDRAWN, "withdrawn");
      add(FAILED, "failed");
    },
  });
  measures.readBytes.from(() => budget.used + streamBudget.used);
  return { methods: measuredReading(reader, limits, measures, latency, latencies), sizes };
}

function newEmitter({ runtime, parts, measures }: ServerContext): DetectionEmitter {
  return new DetectionEmitter({
    clock: runtime.clock,
    publish: (message) => parts.queue.publish(message),
    observe: (namespace, outcome) => measures.detections.add(1, namespace, outcome),
  });
}

function readLimitsOf({ limits, server }: ServiceConfig): ReadLimits {
  return {
    ...DEFAULT_READ_LIMITS,
    pageEventsMax: limits.page_events,
    pageSizeDefault: Math.min(DEFAULT_READ_LIMITS.pageSizeDefault, limits.page_events),
    pageBytesMax: limits.page_bytes,
    streamPageBytes: Math.min(DEFAULT_READ_LIMITS.streamPageBytes, limits.page_bytes),
    fanOutMax: server.read_fan_out,
  };
}
