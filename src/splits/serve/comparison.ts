/** What a read hands over to be compared with the other side. */
import type { PartitionKey } from "../../model/partition.ts";
import type { ReadRange } from "./routed-source.ts";

/** What was read for whom, under which round of the namespace's read mode. */
export interface Comparison {
  readonly namespace: string;
  readonly partition: PartitionKey;
  readonly round: number;
  readonly read: ReadRange;
}
