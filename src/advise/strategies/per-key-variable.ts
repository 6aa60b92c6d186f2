/**
 * Option 5: each key has as many partitions as it needs, by tiers; a table says which tier a key is
 * in.
 *
 * The partition numbers of two tiers never overlap: a key can move to the next tier by writing its
 * rows again, while readers still use the old ones. So the first tier is -1 and not 0, tier 10 has
 * the numbers 10 to 19, tier 100 those from 100 to 199.
 */
import { formatCount } from "../../lib/quantity.ts";
import { cqlName, tableBeside } from "../cql-name.ts";
import type { AdviseLimits } from "../limits.ts";
import { fillOf } from "../limits.ts";
import { bytesText } from "../number-text.ts";
import { freeColumn } from "../roles.ts";
import type { ColumnRoles } from "../roles.ts";
import { bytesOf, rowsOf } from "../sample.ts";
import type { Sample, SampledPartition } from "../sample.ts";
import type { TableFacts } from "../table-facts.ts";
import { busiestWindow, hotRateMin, tombstonesOf } from "../partition-load.ts";
import { isGiven, usedOf } from "./fixed-hash.ts";
import { spreadHashed } from "./spread-rare-parts.ts";
import type { PlacedKey, Strategy } from "./strategy.ts";

/** Partitions of a key in each tier. */
export const TIERS = [1, 10, 100, 1_000, 10_000] as const;
/** A partition begins half full, so that it can grow. */
const FILL = 0.5;
/** A key moves to the next tier when a part is so full: the move takes time. */
const FILL_MAX = 0.8;

export function perKeyVariable(sample: Sample, facts: TableFacts, limits: AdviseLimits): Strategy {
  const tiers = new Map<SampledPartition, number>();
  for (const partition of sample.partitions) {
    tiers.set(partition, tierOf(partition, facts, limits));
  }
  const used = TIERS.filter((tier) => [...tiers.values()].includes(tier));
  const { roles } = sample;
  const partitionsOf = ({ partition }: PlacedKey): number => tiers.get(partition) ?? 1;
  return {
    option: "PER_KEY_VARIABLE",
    name: "per-key variable",
    place: (partition) => {
      const tier = tiers.get(partition) ?? 1;
      return partition.rows.map(({ hash }) => partNumber(hash, tier));
    },
    correct: (parts, partition) =>
      spreadHashed(parts, partition.rows, usedOf(parts, tiers.get(partition) ?? 1)),
    ask: ({ given }, key) => {
      const asked = isGiven(roles.hashed, given) ? 1 : partitionsOf(key);
      return { partitions: asked, merged: asked };
    },
    unknownValues: () => 0,
    order: "NONE",
    text: textOf(roles, used, limits),
  };
}

function partNumber(hash: number, tier: number): number {
  return tier === 1 ? -1 : tier + (hash % tier);
}

/** As many partitions as size, tombstones and the busiest time of the key need. */
function tierOf(partition: SampledPartition, facts: TableFacts, limits: AdviseLimits): number {
  const fill = fillOf(rowsOf(partition), bytesOf(partition), limits) / FILL;
  const tombstones = tombstonesOf(partition.rows, limits) / limits.tombstonesFail / FILL;
  const { perSecond, nodePerSecond } = busiestWindow(partition.rows, facts, limits);
  const hot = perSecond > hotRateMin(facts, limits) ? perSecond / nodePerSecond / FILL : 0;
  const needed = Math.max(fill, tombstones, hot);
  // Half full counts for growth; a key that is not yet due to move on needs no second one.
  if (needed <= FILL_MAX / FILL) return 1;
  return TIERS.find((tier) => tier >= needed) ?? TIERS[TIERS.length - 1] ?? 1;
}

function textOf(
  roles: ColumnRoles,
  used: readonly number[],
  { rowsMax, bytesMax }: AdviseLimits,
): Strategy["text"] {
  const { table, partitionKey, types, hashed } = roles;
  const hash = `hash(${hashed.join(", ")})`;
  const key = partitionKey.map(cqlName).join(", ");
  const part = freeColumn("part", roles);
  const tier = freeColumn("tier", roles);
  const next = freeColumn("next_tier", roles);
  const tiers = tableBeside(table, "tiers");
  const numbers = used.map((each) =>
    each === 1
      ? `${part} = -1 for a normal key`
      : `${part} = ${each} + (${hash} % ${each}) for one of tier ${each}`,
  );
  return {
    added: [{ column: part, type: "int" }],
    writes: `look up the tier of the key; ${numbers.join("; ")}`,
    prepare:
      `count the rows of each key, and write the tier of each that is beyond the first to ` +
      `${tiers}; a key without an entry is a normal one`,
    reads: `the tier of the key in ${tiers} (cache it), then its parts at once`,
    directory: {
      name: tiers,
      columns: [
        ...partitionKey.map((column) => `${cqlName(column)} ${types[column] ?? "text"}`),
        `${tier} int`,
        `${next} int`,
      ],
      primaryKey: `(${key})`,
    },
    transition: [
      `a job counts the rows of each key; at ${formatCount(Math.floor(rowsMax * FILL_MAX))} rows or ` +
        `${bytesText(bytesMax * FILL_MAX)} a part it sets ${next}, so that the new parts are at most half full`,
      `writers that see ${next} write each row, update and delete to both tiers; wait until no writer has an older copy`,
      "the job copies the rows of the old parts to the new ones, with their old write time (USING TIMESTAMP)",
      `it compares the counts of both, then sets ${tier} = ${next} and ${next} = null: readers switch`,
      "after the longest read it deletes the old parts, one partition tombstone each",
      "because no number is in two tiers (-1, 10 to 19, 100 to 199, …), nothing is read twice or deleted too much",
    ],
  };
}
