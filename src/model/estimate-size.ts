/**
 * Estimates the size of a partition that was counted in part, from the event time that the count
 * covers. Events that arrive evenly make it exact; it is for people and for histograms, never for a
 * decision on one event. Pure.
 */
export interface PartialCount {
  readonly bytes: number;
  readonly events: number;
  /** The event time of the first and the last event counted, in either order. */
  readonly from: number;
  readonly to: number;
}

/** `end`: the time of the partition's last event, on the side where the count stopped. */
export function estimateSize(
  { bytes, events, from, to }: PartialCount,
  end: number,
): { readonly bytes: number; readonly events: number } {
  const covered = Math.abs(to - from);
  // All counted events have one time: it shows nothing of the rest.
  if (covered === 0) return { bytes, events };
  const factor = Math.max(1, Math.abs(end - from) / covered);
  return { bytes: Math.round(bytes * factor), events: Math.round(events * factor) };
}
