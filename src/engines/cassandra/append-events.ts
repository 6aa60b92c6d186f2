/**
 * Stores the events of one slice: those of one partition together, in batches that one replica set
 * applies as a single mutation.
 *
 * To a table that is written to all the time (`batch-statements.ts`), a batch is one prepared
 * statement of several inserts, so that Cassandra parses nothing and the
 * driver looks up one statement instead of one for each event. It never leaves its partition and is
 * bounded in events and bytes. There are statements for twenty numbers of inserts, not for every
 * number: a batch in between repeats its last event, which changes nothing and costs less than a
 * second statement.
 */
import type { PlacedEvent } from "../../ports/event-store.ts";
import { asBuffer, int32, writeInt64 } from "./cql-values.ts";
import { sendInserts } from "./send-inserts.ts";
import type { BoundPartition, Insert, InsertMeans, InsertTarget } from "./send-inserts.ts";

/** Beyond this a batch gains little, and a slow one delays more. */
const BATCH_EVENTS_MAX = 64;
const BATCH_BYTES_MAX = 64 << 10;

interface PartitionGroup {
  readonly key: BoundPartition;
  readonly events: PlacedEvent[];
}

/** Rejects as the port says. */
export function appendEvents(
  means: InsertMeans,
  target: InsertTarget,
  events: readonly PlacedEvent[],
): Promise<void> {
  const batches = groupByPartition(events).flatMap(cutIntoBatches);
  return sendInserts(
    means,
    target,
    batches.map(
      (batch) => () =>
        insertOf(batch, batch.events.length > 1 && means.batches.includes(target.table)),
    ),
  );
}

/**
 * Events of one batch often belong to one partition, one after another: then no lookup is needed.
 */
function groupByPartition(events: readonly PlacedEvent[]): PartitionGroup[] {
  const groups = new Map<string, PartitionGroup>();
  for (const placed of events) {
    const { event, timeBucket, eventBucket } = placed;
    const bytes = asBuffer(event.bytes);
    const series = bytes.toString("latin1", event.seriesStart, event.seriesEnd);
    const name = `${timeBucket}/${eventBucket}/${series}`;
    const group = groups.get(name);
    if (group !== undefined) group.events.push(placed);
    else {
      const id = bytes.subarray(event.seriesStart, event.seriesEnd);
      groups.set(name, { key: [id, int32(timeBucket), int32(eventBucket)], events: [placed] });
    }
  }
  return [...groups.values()];
}

function cutIntoBatches(group: PartitionGroup): PartitionGroup[] {
  const { key, events } = group;
  const batches: PartitionGroup[] = [];
  for (let at = 0; at < events.length;) {
    let count = 0;
    let bytes = 0;
    while (count < BATCH_EVENTS_MAX && at + count < events.length) {
      const { event } = events[at + count] as PlacedEvent;
      bytes += event.end - event.start;
      if (count > 0 && bytes > BATCH_BYTES_MAX) break;
      count++;
    }
    batches.push(count === events.length ? group : { key, events: events.slice(at, at + count) });
    at += count;
  }
  return batches;
}

/**
 * The inserts of the statement for this many events: every number up to 8, then in steps of an
 * eighth.
 */
export function insertsFor(events: number): number {
  const step = events <= 8 ? 1 : 2 ** (Math.ceil(Math.log2(events)) - 3);
  return Math.ceil(events / step) * step;
}

/** `padded`: to the number of inserts of a prepared statement. */
function insertOf({ key, events }: PartitionGroup, padded: boolean): Insert {
  const inserts = padded ? insertsFor(events.length) : events.length;
  const times = Buffer.allocUnsafe(8 * inserts);
  const params: Buffer[] = [];
  for (let i = 0; i < inserts; i++) {
    const { event } = events[Math.min(i, events.length - 1)] as PlacedEvent;
    const bytes = asBuffer(event.bytes);
    writeInt64(times, 8 * i, event.time);
    params.push(
      ...key,
      times.subarray(8 * i, 8 * i + 8),
      bytes.subarray(event.idStart, event.idEnd),
      bytes.subarray(event.itemsStart, event.end),
    );
  }
  return { params, partition: key };
}
