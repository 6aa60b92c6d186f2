/**
 * Which splits a worker may take: those without an owner and those whose owner is dead (rule C16).
 *
 * For a while two workers may each believe that they own the same split. Compare-and-set and new
 * part numbers make that harmless (rule C8).
 */
import type { OwnerLiveness } from "../../lib/owner-liveness.ts";
import { partitionText } from "../../model/partition.ts";
import type { SplitRecord } from "../../model/split.ts";

export function isFree({ partition, owner, fence }: SplitRecord, owners: OwnerLiveness): boolean {
  if (owner === null) return true;
  return owners.isDead(partitionText(partition), { fence, counter: owner.heartbeat });
}
