/** Composes the writes of a server: the writer, the queue in front of it, and the metrics. */
import type { Writing } from "../api/methods/write-events.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import { ServiceError } from "../lib/errors.ts";
import type { EventLimits } from "../wire/event-limits.ts";
import type { WriteBatch } from "../wire/write-request.ts";
import { EventWriter } from "../write/write-events.ts";
import { DEFAULT_WRITE_QUEUE_OPTIONS, WriteQueue } from "../write/write-queue.ts";
import type { ServiceConfig } from "./config.ts";
import { measuredWriting } from "./measured-methods.ts";
import { RecentEventTimes } from "./recent-event-times.ts";
import type { ServerContext } from "./server-context.ts";

export function startWriting(context: ServerContext): Writing {
  const { config, runtime, parts, measures } = context;
  const { storage, store, views, time } = parts;
  const times = new RecentEventTimes();
  time.addOpinion(async () => times.median());
  const budget = new ByteBudget(config.server.write_memory);
  const writer = new EventWriter({
    clock: runtime.clock,
    store,
    views,
    budget,
    onWritten: (namespace, events) => measures.written.add(events, namespace),
  });
  measures.writeBytes.from(() => budget.used);
  const queue = startQueue(context, writer);
  return measuredWriting(
    {
      limits: eventLimitsOf(config),
      requestBytesMax: config.limits.request_bytes,
      write: (batch, signal) => writer.write(noted(times, batch), signal),
      enqueue: (batch) => {
        // What is acknowledged on receipt should not wait for room on the disk.
        const readOnly = storage.readOnly?.();
        if (readOnly !== undefined) {
          throw new ServiceError("STORAGE_UNAVAILABLE", readOnly, { retryAfterMs: 1_000 });
        }
        return queue.enqueue(noted(times, batch));
      },
    },
    measures,
    (name) => views.current(name) !== undefined,
  );
}

/** One event of a request is enough: a backfill in one request counts once. */
function noted(times: RecentEventTimes, batch: WriteBatch): WriteBatch {
  const last = batch.events.at(-1);
  if (last !== undefined && "time" in last) times.note(last.time);
  return batch;
}

function startQueue(
  { config, runtime, measures, lifecycle }: ServerContext,
  writer: EventWriter,
): WriteQueue {
  const { clock, log } = runtime;
  const queue = new WriteQueue(
    writer,
    clock,
    { ...DEFAULT_WRITE_QUEUE_OPTIONS, bytesMax: config.server.queue_memory },
    (namespace, code, events) => {
      // The namespace may have been deleted while events waited.
      const gone = code === "NAMESPACE_NOT_FOUND";
      measures.writeQueueDropped.add(events, gone ? "" : namespace, code);
      log.warn({ namespace, code, events }, "queued events were dropped");
    },
  );
  measures.writeQueueBytes.from(() => queue.bytes);
  lifecycle.started("the write queue", () => queue.close());
  return queue;
}

function eventLimitsOf({ limits }: ServiceConfig): EventLimits {
  return {
    seriesIdBytesMax: limits.series_id_bytes,
    eventIdBytesMax: limits.event_id_bytes,
    itemKeyBytesMax: limits.item_key_bytes,
    itemsMax: limits.items,
    eventBytesMax: limits.event_bytes,
    requestEventsMax: limits.request_events,
  };
}
