/** Selects the events of a block that a read wants, and reverses their order. */
import { compareBytes } from "../lib/bytes.ts";
import type { Order } from "../ports/event-store.ts";
import type { EventBytes } from "../wire/event-record.ts";
import { comparePositions, eventOfFrame, positionOf } from "../wire/frames.ts";
import type { Position } from "../wire/frames.ts";
import { frameEnd } from "../wire/packed-block.ts";
import type { BlockHead } from "../wire/packed-block.ts";

/** A read's range: the events between two positions, both excluded. */
export interface Bounds {
  readonly low: Position;
  readonly high: Position;
}

/** Frames of a block, newest first. */
export interface BlockCut {
  readonly start: number;
  readonly end: number;
  readonly count: number;
  /** Newest and oldest. */
  readonly first: Position;
  readonly last: Position;
}

const NO_ID = new Uint8Array(0);

/** A position right before every event of this time: an event's id is never empty. */
export function startOf(time: number): Position {
  return { time, id: NO_ID };
}

export function boundsOf(range: {
  readonly from: number;
  readonly to: number;
  readonly order: Order;
  readonly after: Position | undefined;
}): Bounds {
  const { after, order } = range;
  const [low, high] = [startOf(range.from), startOf(range.to)];
  if (after === undefined) return { low, high };
  if (order === "NEWEST_FIRST")
    return { low, high: comparePositions(after, high) < 0 ? after : high };
  return { low: comparePositions(after, low) > 0 ? after : low, high };
}

/** The wanted events of a block: null if there are none, undefined if its frames do not parse. */
export function cutBlock(
  bytes: Uint8Array,
  head: BlockHead,
  { low, high }: Bounds,
): BlockCut | null | undefined {
  if (comparePositions(head.last, high) >= 0 || comparePositions(head.first, low) <= 0) return null;
  const tooNew = comparePositions(head.first, high) >= 0;
  const tooOld = comparePositions(head.last, low) <= 0;
  const { framesStart, framesEnd, count, first, last } = head;
  if (!tooNew && !tooOld) return { start: framesStart, end: framesEnd, count, first, last };
  return walk(bytes, head, { low, high });
}

function walk(
  bytes: Uint8Array,
  head: BlockHead,
  { low, high }: Bounds,
): BlockCut | null | undefined {
  let [start, end, count] = [0, 0, 0];
  let first: EventBytes | undefined;
  let last: EventBytes | undefined;
  for (let at = head.framesStart; at < head.framesEnd;) {
    const event = eventOfFrame(bytes, at);
    if (event === undefined) return undefined;
    if (compareTo(event, low) <= 0) break;
    if (compareTo(event, high) < 0) {
      if (first === undefined) {
        first = event;
        start = at;
      }
      last = event;
      end = event.end;
      count++;
    }
    at = event.end;
  }
  if (first === undefined || last === undefined) return null;
  return { start, end, count, first: positionOf(first), last: positionOf(last) };
}

/** Like `comparePositions`, without a view of an id where times differ. */
function compareTo(event: EventBytes, position: Position): number {
  if (event.time !== position.time) return event.time - position.time;
  return compareBytes(event.bytes.subarray(event.idStart, event.idEnd), position.id);
}

/**
 * Copies like Buffer, from any bytes: a view for `set` would cost one more object for each event.
 */
const copyBytes = Buffer.alloc(0).copy;

/** The frames in the opposite order, in bytes of their own; undefined if they do not parse. */
export function turnRound(bytes: Uint8Array, start: number, end: number): Uint8Array | undefined {
  const turned = Buffer.allocUnsafeSlow(end - start);
  for (let at = start; at < end;) {
    const next = frameEnd(bytes, at, end);
    if (next < 0) return undefined;
    copyBytes.call(bytes, turned, end - next, at, next);
    at = next;
  }
  return turned;
}
