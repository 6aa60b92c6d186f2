/** How much is measured, the same for every part of the bench. */
export interface SplitBenchOptions {
  /** Of the widest partition. */
  readonly mb: number;
  readonly quick: boolean;
  /** Rounds that count: the bench reports the median of their ratios. */
  readonly rounds: number;
  /** A round. */
  readonly pages: number;
  readonly warmUp: number;
  readonly eventSizes: readonly number[];
  /** `server.read_fan_out` of the server on Cassandra; its default if not given. */
  readonly fanOut?: string | undefined;
}

/** Views of a second instead of ten: the bench measures work, not the age of views. */
export const QUICK_VIEWS = { BRAID_VIEW_MAX_AGE: "1s", BRAID_WRITE_MAX: "1s" };

/**
 * On Cassandra a write has a quarter of its longest time for one try, which a busy node needs. No
 * machine is paused.
 */
export const QUICK_VIEWS_CASSANDRA = {
  BRAID_VIEW_MAX_AGE: "1s",
  BRAID_WRITE_MAX: "8s",
  BRAID_PAUSE_MAX: "1s",
};

/**
 * Parts of eight megabytes, and partitions wide from that size on, so that a short read detects
 * them.
 */
export const PART_BYTES = 8 << 20;
export const WIDE = { bytesMax: String(PART_BYTES), targetBytes: String(PART_BYTES) };
