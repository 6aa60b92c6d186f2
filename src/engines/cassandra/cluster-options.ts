/** Where the cluster is, and how many replicas it keeps. */
import type { Replication } from "./schema.ts";

export interface ClusterOptions {
  /** `host` or `host:port`. */
  readonly contactPoints: readonly string[];
  readonly datacenter: string;
  readonly replication: Replication;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}
