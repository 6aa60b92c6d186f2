/**
 * Decides for each event of a batch whether to accept it and where it goes. Pure: the same view and
 * time give the same answer, on arrival and in the check before the acknowledgement.
 */
import type { EventCode } from "../lib/errors.ts";
import { blockedMessage, blockOf, closedBelow } from "../model/namespace.ts";
import type { NamespaceView } from "../model/namespace.ts";
import { eventBucketOf, eventBucketsOf, timeBucketOf } from "../model/partition.ts";
import { sliceAt } from "../model/time-slice.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { PlacedEvent } from "../ports/event-store.ts";
import type { EventBytes } from "../wire/event-record.ts";
import { formatTime } from "../wire/time-text.ts";
import type { EventProblem } from "../wire/validate-event.ts";

export interface EventFailure {
  readonly index: number;
  readonly code: EventCode;
  readonly message: string;
}

/** The events of one slice, and their indexes in the batch. */
export interface SliceGroup {
  readonly slice: TimeSlice;
  readonly events: PlacedEvent[];
  readonly indexes: number[];
}

export interface Placement {
  readonly groups: readonly SliceGroup[];
  readonly failures: EventFailure[];
}

/** No event before this time is accepted: the floor, or the accept limit where that is later. */
function acceptFrom({ namespace }: NamespaceView, nowMicros: number): number {
  return Math.max(nowMicros - namespace.config.acceptLimitMicros, closedBelow(namespace));
}

/** So many failures of a batch are described; the others have their code and a short message. */
const DESCRIBED_FAILURES = 100;
const OF_MANY = "as others of this request; the first failures say more";

/** `firstIndex`: where these events begin in their request. */
export function placeEvents(
  view: NamespaceView,
  events: readonly (EventBytes | EventProblem)[],
  nowMicros: number,
  firstIndex = 0,
): Placement {
  const groups: SliceGroup[] = [];
  const failures: EventFailure[] = [];
  const from = acceptFrom(view, nowMicros);
  const to = nowMicros + view.namespace.config.futureLimitMicros;
  const blocking = view.blocked.size > 0;
  const growing = view.idStrategies.size > 0;
  let group: SliceGroup | undefined;
  for (let nth = 0; nth < events.length; nth++) {
    const index = firstIndex + nth;
    const event = events[nth] as EventBytes | EventProblem;
    const describe = failures.length < DESCRIBED_FAILURES;
    if ("problem" in event) {
      const message = describe ? event.message : OF_MANY;
      failures.push({ index, code: event.problem, message });
      continue;
    }
    const { time } = event;
    if (time < from) {
      const message = describe ? tooOld(view, time, from, nowMicros) : OF_MANY;
      failures.push({ index, code: "EVENT_TOO_OLD", message });
      continue;
    }
    if (time > to) {
      const message = describe ? tooNew(view, time, nowMicros) : OF_MANY;
      failures.push({ index, code: "EVENT_TOO_NEW", message });
      continue;
    }
    const series = blocking || growing ? seriesOf(event) : "";
    if (blocking) {
      const block = blockOf(view, series, nowMicros);
      if (block !== undefined) {
        failures.push({ index, code: "ID_BLOCKED", message: blockedMessage(block) });
        continue;
      }
    }
    if (group === undefined || time < group.slice.start || time >= group.slice.end) {
      const slice = sliceAt(view.slices, time);
      if (slice === undefined) {
        failures.push({ index, ...noSlice(view, time) });
        continue;
      }
      group = groups.find((other) => other.slice === slice);
      if (group === undefined) {
        group = { slice, events: [], indexes: [] };
        groups.push(group);
      }
    }
    const { slice } = group;
    const timeBucket = timeBucketOf(slice, time);
    const buckets = growing
      ? eventBucketsOf(slice, timeBucket, view.idStrategies.get(series))
      : slice.timePartition.eventBuckets;
    group.events.push({
      event,
      timeBucket,
      eventBucket:
        buckets === 1
          ? 0
          : eventBucketOf(buckets, event.bytes.subarray(event.idStart, event.idEnd)),
    });
    group.indexes.push(index);
  }
  return { groups, failures };
}

function seriesOf(event: EventBytes): string {
  return Buffer.from(event.bytes.subarray(event.seriesStart, event.seriesEnd)).toString();
}

function tooOld(view: NamespaceView, time: number, from: number, nowMicros: number): string {
  const limit = view.namespace.config.acceptLimitMicros / 1_000_000;
  return (
    `eventTime ${formatTime(time)} is before ${formatTime(from)}; the server's time is ` +
    `${formatTime(nowMicros)} and acceptLimit is ${limit}s. Raise acceptLimit for a backfill`
  );
}

function tooNew(view: NamespaceView, time: number, nowMicros: number): string {
  const limit = view.namespace.config.futureLimitMicros / 1_000_000;
  return (
    `eventTime ${formatTime(time)} is more than futureLimit (${limit}s) ahead of the server's ` +
    `time ${formatTime(nowMicros)}. Check the sender's clock`
  );
}

function noSlice(view: NamespaceView, time: number): { code: EventCode; message: string } {
  const first = view.slices[0];
  if (first !== undefined && time < first.start) {
    return {
      code: "EVENT_TOO_OLD",
      message: `the time slice of eventTime ${formatTime(time)} is closed or dropped`,
    };
  }
  // Slices are made ahead of need, so the slice reconciler has fallen behind; the event is not at
  // fault.
  return {
    code: "OVERLOADED",
    message: `the time slice of eventTime ${formatTime(time)} does not exist yet; repeat in a moment`,
  };
}
