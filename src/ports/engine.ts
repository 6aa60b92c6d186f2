/** What a process needs from its storage engine, besides what the engine measures of itself. */
import type { Micros } from "../lib/time-units.ts";
import type { SliceRef } from "../model/partition.ts";
import type { Fragments } from "./fragments.ts";
import type { HistogramTable } from "./histogram-table.ts";
import type { PartitionSizes } from "./partition-sizes.ts";
import type { DroppedSnapshots } from "./snapshots.ts";
import type { Storage } from "./storage.ts";

/** The free space of an engine's own disk, for operators. */
export interface DiskUsage {
  /** Undefined if the disk has not answered yet. */
  readonly freeBytes: number | undefined;
  /** Below this many free bytes the engine accepts no events. */
  readonly freeBytesMin: number;
  /** Why the engine accepts no events now, or undefined. */
  readonly readOnly: string | undefined;
}

export interface Engine extends Storage {
  /** What the engine itself knows about the sizes of its partitions. */
  readonly sizes: readonly PartitionSizes[];
  /** Where the engine shows histograms to people who query it directly, if it can. */
  readonly histogramTable?: HistogramTable;
  /**
   * Whether events have replicas in more than one data centre, which a local majority does not
   * span.
   */
  readonly severalDatacenters: boolean;
  /** How fragmented a slice is on disk, where that matters and is known. Never rejects. */
  fragments(slice: SliceRef): Promise<Fragments | undefined>;
  /** Copies of dropped slices that the engine keeps on its own, if it does. Never rejects. */
  droppedSnapshots?(namespaceId: string): Promise<DroppedSnapshots | undefined>;
  /** Why the engine cannot serve now; undefined if it can. */
  notReady(): string | undefined;
  /** Why reads are answered and events are refused now; undefined if they are not. */
  readOnly?(): string | undefined;
  /** The free space of the disk, where the engine watches it. */
  disk?(): DiskUsage | undefined;
  /** What time it is by other machines' clocks, where the engine has some. */
  clockMicros(): Promise<Micros | undefined>;
  /** Waits for operations under way. */
  close(): Promise<void>;
}
