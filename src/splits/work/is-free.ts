/**
 * Which splits a worker may take: those without an owner, and those whose owner is dead (rule C16).
 *
 * Two workers may still believe for a while that they own the same split: compare-and-set and fresh
 * part numbers keep that harmless (rule C8).
 */
import type { OwnerLiveness } from "../../lib/owner-liveness.ts";
import { partitionText } from "../../model/partition.ts";
import type { SplitRecord } from "../../model/split.ts";

export function isFree({ partition, owner, fence }: SplitRecord, owners: OwnerLiveness): boolean {
  if (owner === null) return true;
  return owners.isDead(partitionText(partition), { fence, counter: owner.heartbeat });
}
