/** What one read has taken from one partition: where width is noticed and sizes are learned. */
import type { NamespaceView } from "../model/namespace.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { RouteName } from "./partition-source.ts";

export interface PartitionRead {
  /** The one the read was made with. */
  readonly view: NamespaceView;
  readonly partition: PartitionKey;
  readonly route: RouteName;
  /** By this read so far, earlier pages included; what a split covers is left out (rule C10). */
  readonly bytes: number;
  readonly events: number;
  /** Whether these are all its events: the read began before the first and ended behind the last. */
  readonly whole: boolean;
}
