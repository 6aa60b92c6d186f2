/** What one read has taken from one partition: the input of width detection and size statistics. */
import type { NamespaceView } from "../model/namespace.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { RouteName } from "./partition-source.ts";

export interface PartitionRead {
  /** The view the read was made with. */
  readonly view: NamespaceView;
  readonly partition: PartitionKey;
  readonly route: RouteName;
  /**
   * Bytes of this read so far, including earlier pages, without the part that a split covers (rule
   * C10).
   */
  readonly bytes: number;
  readonly events: number;
  /**
   * Whether these are all its events: the read began before the first and ended behind the last.
   */
  readonly whole: boolean;
}
