/** The width map of a slice, as a walk of the slice stored it. */
import type { Distribution } from "./size-histogram.ts";
import type { SliceHistogram } from "./slice-histogram.ts";
import type { GridShape, WidthGrids } from "./width-grid.ts";

export interface WidthMap extends Pick<
  SliceHistogram,
  "asOf" | "endedAt" | "sealed" | "complete" | "sampleShare" | "omissions"
> {
  readonly shape: GridShape;
  /** Bytes of each partition. */
  readonly sizes: Distribution;
  readonly totalEvents: number;
  readonly grids: WidthGrids;
}
