/**
 * Whether another server may have taken events that a read is to find into a slice that this
 * server's view does not have yet.
 *
 * Slices are made ahead of need, so a view covers all event time that can be written now, and the
 * answer is no. Where it leaves out some of that, the slice reconciler was late, or the view was
 * asked for while some of several slices had been made. Below the floor nothing is written any
 * more: what is missing there is closed or dropped.
 */
import type { NamespaceView } from "../model/namespace.ts";
import type { Micros } from "../lib/time-units.ts";

export function mayMissSlice(
  { namespace, slices }: NamespaceView,
  { start, end }: { readonly start: number; readonly end: number },
  nowMicros: Micros,
  clockSkewMicros: Micros,
): boolean {
  const from = Math.max(start, namespace.floor);
  // The last event that anybody takes lies exactly on the limit.
  const writable = nowMicros + namespace.config.futureLimitMicros + clockSkewMicros + 1;
  let to = Math.min(end, writable);
  for (let i = slices.length; from < to && i > 0; i--) {
    const slice = slices[i - 1];
    if (slice === undefined || slice.end < to) return true;
    to = Math.min(to, slice.start);
  }
  return from < to;
}
