/** Whether a partition holds any event. It fetches one event, of any time. */
import type { PartitionKey } from "../../model/partition.ts";
import type { EventStore } from "../../ports/event-store.ts";
import { TIME_MICROS_MAX } from "../../wire/event-record.ts";

export async function holdsEvents(store: EventStore, partition: PartitionKey): Promise<boolean> {
  const range = {
    from: 0,
    to: TIME_MICROS_MAX + 1,
    order: "NEWEST_FIRST",
    after: undefined,
    runEventsMax: 1,
    runBytesMax: 1,
  } as const;
  const never = new AbortController().signal;
  for await (const run of store.scan(partition, range, never)) if (run.count > 0) return true;
  return false;
}
