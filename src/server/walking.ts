/** Walks over slices in the background: histograms and the largest partitions, for all servers. */
import { SliceWalker } from "../sizes/slice-walker.ts";
import type { CommonParts } from "./common-parts.ts";
import type { ServiceConfig } from "./config.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Runtime } from "./runtime.ts";
import type { WorkerMetrics } from "./worker-metrics.ts";

export function startWalking(
  { walk }: ServiceConfig,
  { clock, log }: Runtime,
  { catalog, store, storage }: CommonParts,
  lifecycle: Lifecycle,
  measures: WorkerMetrics,
): void {
  const walker = new SliceWalker({
    catalog,
    store,
    clock,
    table: storage.histogramTable,
    sources: storage.sizes,
    everyMs: walk.every,
    currentEveryMs: walk.current_every,
    rate: {
      bytesPerSecond: walk.bytes_per_second,
      partitionsPerSecond: walk.partitions_per_second,
    },
    bytesMax: walk.bytes_max,
    walkMsMax: walk.time_max,
    observe: (event) => {
      const { namespace } = event;
      switch (event.kind) {
        case "paged":
          measures.walkedPartitions.add(event.partitions, namespace);
          break;
        case "walked": {
          const { timeSlice, sealed, complete, partitions } = event.histogram;
          const { count, max } = partitions.bytes;
          log.info(
            { namespace, slice: timeSlice, sealed, complete, partitions: count, largest: max },
            "walked a slice",
          );
          break;
        }
        case "failed":
          log.warn({ namespace, slice: event.slice, err: event.error }, "could not walk a slice");
          break;
      }
    },
  });
  measures.walkLag.from(() => walker.lagSeconds());
  lifecycle.run("walking slices", (signal) => walker.run(signal));
}
