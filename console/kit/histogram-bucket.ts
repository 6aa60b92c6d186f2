/** A column of a histogram: values from `from`, and below `to`. */
export interface HistogramBucket {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}
