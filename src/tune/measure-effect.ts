/**
 * Whether a tuning did what it promised. Pure.
 *
 * It compares what came out with what the former partitioning would have given for the same events:
 * traffic that has grown or shrunk meanwhile is not the tuning's doing.
 */
import type { SliceHistogram } from "../model/slice-histogram.ts";
import type { Tuning, TunedSizes } from "../model/tuning.ts";
import { DEAD_BAND, distanceFromTarget } from "./judge-sizes.ts";
import type { TargetDensity } from "./judge-sizes.ts";
import { SizePrediction } from "./predict-sizes.ts";

/** Slices under the new partitioning that show its effect. */
const EFFECT_SLICES = 2;

/**
 * To take a narrowing back is to widen, which waits longer: after a burst of two slices everything
 * is as before, and another burst may follow.
 */
const TAKE_BACK_SLICES = { WIDEN: 2, NARROW: 4 };

export interface TuningEffect {
  readonly got: TunedSizes;
  /** What the former partitioning would have given. */
  readonly otherwise: TunedSizes;
  readonly worse: boolean;
}

/**
 * Undefined until enough slices are sealed. `usable` are slices with the tuning's partitioning that
 * hold enough, by start: a quiet day says nothing of the tuning.
 */
export function measureEffect(
  { effectiveFrom, from, direction }: Tuning,
  usable: readonly SliceHistogram[],
  target: TargetDensity,
): TuningEffect | undefined {
  const since = usable.filter(({ start }) => start >= effectiveFrom);
  const shown = since.slice(-EFFECT_SLICES);
  const newest = shown.at(-1);
  if (shown.length < EFFECT_SLICES || newest === undefined) return undefined;
  const worse = shown.every((histogram) => {
    const prediction = new SizePrediction(histogram);
    const missed = distanceFromTarget(prediction.present(), target);
    return missed > distanceFromTarget(prediction.under(from), target) * DEAD_BAND;
  });
  if (worse && since.length < TAKE_BACK_SLICES[direction]) return undefined;
  const prediction = new SizePrediction(newest);
  return { got: prediction.present(), otherwise: prediction.under(from), worse };
}
