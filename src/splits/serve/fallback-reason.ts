/** Why a read that could have used a split read the original. */
export type FallbackReason =
  /** The catalog did not return the route or the parts, or a part's record is missing. */
  | "route"
  /** Blocks or rows are missing, damaged or out of place. */
  | "integrity"
  /** The storage of the split failed. */
  | "storage"
  /** A later epoch has opened the split's time again. */
  | "epoch"
  /** This server's view of the namespace, or its kill switch, is older than `viewMaxAge`. */
  | "stale"
  /** No second read of the original has agreed yet (rule C6). */
  | "unconfirmed"
  /** The read used the split until mode, kill switch or route changed. */
  | "withdrawn"
  /** This server saw a difference or damage earlier, which is being rechecked. */
  | "quarantined";
