/** The limits of the criteria. Each default says where it comes from. */

export interface AdviseLimits {
  /** Rule of thumb for Cassandra: a partition has at most 100 MB … */
  readonly bytesMax: number;
  /** … and at most 100,000 rows. */
  readonly rowsMax: number;
  /** Cassandra's `tombstone_warn_threshold`. */
  readonly tombstonesWarn: number;
  /** Cassandra's `tombstone_failure_threshold`: the read fails. */
  readonly tombstonesFail: number;
  /** Cassandra's `gc_grace_seconds`: a tombstone stays for at least ten days. */
  readonly gcGraceMicros: number;
  /** A partition is a hot spot if it takes more than one node's share of the busiest time. */
  readonly nodes: number;
  /** Fewer writes to one partition are never a hot spot: each node does thousands. */
  readonly hotRowsPerSecondMin: number;
  /** The driver's page: a query needs one call for so many rows anyway. */
  readonly pageRows: number;
}

export const DAY_MICROS = 86_400_000_000;

export const DEFAULT_LIMITS: AdviseLimits = {
  bytesMax: 100_000_000,
  rowsMax: 100_000,
  tombstonesWarn: 1_000,
  tombstonesFail: 100_000,
  gcGraceMicros: 10 * DAY_MICROS,
  nodes: 12,
  hotRowsPerSecondMin: 10,
  pageRows: 5_000,
};

/** A reader may know so many values of a column by heart, or keep them in its configuration. */
export const KNOWN_VALUES_MAX = 100;

/** How full a partition is: 1 is the limit, in bytes or in rows, whichever is nearer. */
export function fillOf(rows: number, bytes: number, limits: AdviseLimits): number {
  return Math.max(rows / limits.rowsMax, bytes / limits.bytesMax);
}
