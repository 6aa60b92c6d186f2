/**
 * Where an engine shows the histograms of slices to people who query it directly. A copy: the
 * catalog has the records that Braid itself uses.
 */
import type { Namespace } from "../model/namespace.ts";
import type { SliceHistogram } from "../model/slice-histogram.ts";
import type { SizeReport } from "./partition-sizes.ts";

export interface HistogramTable {
  /** Shows this histogram instead of the slice's last one. */
  publish(namespace: Pick<Namespace, "name" | "id">, histogram: SliceHistogram): Promise<void>;
  /** Shows what the storage itself said about a slice that has no histogram yet. */
  publishReport(
    namespace: Pick<Namespace, "name" | "id">,
    slice: Pick<SliceHistogram, "timeSlice" | "start" | "end" | "timePartition">,
    report: SizeReport,
  ): Promise<void>;
  /** Repeating it does nothing. Removing the namespace removes all of its histograms. */
  remove(namespace: Pick<Namespace, "name" | "id">, timeSlice: string): Promise<void>;
}
