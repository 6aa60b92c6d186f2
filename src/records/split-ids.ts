/**
 * Short ids of splits, for people to type: a hash of the namespace and the partition.
 *
 * The id narrows the search: finding its split usually reads one shard of one slice instead of the
 * whole namespace. It has ten characters of five bits each: one for the shard, two for the slice's
 * name, seven for the partition. Two splits of one shard share an id with a chance of 1 in 34
 * billion; a lookup that finds both returns both.
 */
import { utf8 } from "../lib/bytes.ts";
import { hash32 } from "../lib/hash.ts";
import type { PartitionKey, SliceRef } from "../model/partition.ts";
import type { Catalog } from "../ports/catalog.ts";
import { slicesWithSplits } from "./split-records.ts";
import { partitionOf, shardOf, shardSpace, SHARDS, slicedKeyOf } from "./split-spaces.ts";
import { listAll } from "./stored-json.ts";

/** Crockford's base 32: no letter looks like a digit or like another letter. */
const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
const ID_FORM = new RegExp(`^[${DIGITS}]{10}$`);
const HIGH_SEED = 1;
const LOW_SEED = 2;
const SLICE_SEED = 3;

export function splitIdOf(partition: PartitionKey): string {
  const bytes = utf8(`${partition.namespaceId}|${slicedKeyOf(partition)}`);
  const low = hash32(bytes, LOW_SEED);
  return [
    digits(shardOf(partition), 1),
    sliceDigits(partition),
    digits(hash32(bytes, HIGH_SEED), 1),
    digits(low, 6),
  ].join("");
}

/** Whether a text has the form of an id. Capitals are accepted. */
export function isSplitId(text: string): boolean {
  return ID_FORM.test(text.toLowerCase());
}

export interface FoundSplits {
  /** None: there is no such split. More than one: the id is ambiguous. */
  readonly partitions: readonly PartitionKey[];
  /** Whether the bound was reached before the end. */
  readonly gaveUp: boolean;
}

/** The partitions whose split has this id, from at most `scannedMax` records. */
export async function findSplits(
  catalog: Catalog,
  namespaceId: string,
  splitId: string,
  scannedMax: number,
): Promise<FoundSplits> {
  const wanted = splitId.toLowerCase();
  const partitions: PartitionKey[] = [];
  const shard = DIGITS.indexOf(wanted.charAt(0));
  if (!isSplitId(wanted) || shard >= SHARDS) return { partitions, gaveUp: false };
  let scanned = 0;
  for (const slice of await slicesWithSplits(catalog, namespaceId)) {
    const ref = { namespaceId, slice };
    if (sliceDigits(ref) !== wanted.slice(1, 3)) continue;
    for await (const { key } of listAll(catalog, shardSpace("splits", ref, shard))) {
      if (scanned++ >= scannedMax) return { partitions, gaveUp: true };
      const partition = partitionOf(ref, key);
      if (splitIdOf(partition) === wanted) partitions.push(partition);
    }
  }
  return { partitions, gaveUp: false };
}

function sliceDigits({ slice }: SliceRef): string {
  return digits(hash32(utf8(slice), SLICE_SEED), 2);
}

/** The last `count` digits of a number. */
function digits(number: number, count: number): string {
  let text = "";
  for (let rest = number; text.length < count; rest = Math.floor(rest / DIGITS.length)) {
    text = DIGITS.charAt(rest % DIGITS.length) + text;
  }
  return text;
}
