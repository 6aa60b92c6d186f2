/**
 * Whether another server may have accepted events for this read into a slice that this server's
 * view does not have yet.
 *
 * Slices are made ahead of need, so a view covers all event time that can be written now, and the
 * answer is no. If it leaves out some of that time, the slice reconciler was late, or the view was
 * requested while only some of several slices existed. Nothing is written below the floor any more:
 * a slice missing there is closed or dropped.
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
  // The last event that a server accepts lies exactly on the limit.
  const writable = nowMicros + namespace.config.futureLimitMicros + clockSkewMicros + 1;
  let to = Math.min(end, writable);
  for (let i = slices.length; from < to && i > 0; i--) {
    const slice = slices[i - 1];
    if (slice === undefined || slice.end < to) return true;
    to = Math.min(to, slice.start);
  }
  return from < to;
}
