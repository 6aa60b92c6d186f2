/**
 * What operators did with dead letters: space `queue`, key `dead-letters`.
 *
 * A queue such as Kafka cannot remove a single message. So this remembers which dead letters are
 * settled, replayed or dropped, as ranges of offsets for each partition, and who did what, the
 * latest entries. Both are bounded.
 */
import { z } from "zod";
import { compareAndSet, LOST } from "../lib/compare-and-set.ts";
import { ServiceError } from "../lib/errors.ts";
import { settle } from "../model/settled-offsets.ts";
import type { OffsetRange } from "../model/settled-offsets.ts";
import type { Catalog } from "../ports/catalog.ts";
import { decodeStored, encodeStored, storedObject } from "./stored-json.ts";

const SPACE = "queue";
const KEY = "dead-letters";
/** Of all partitions together. */
export const SETTLED_RANGES_MAX = 1_000;
export const ACTIONS_KEPT = 50;

export interface DeadLetterAction {
  /** Microseconds. */
  readonly at: number;
  readonly by: string;
  readonly action: "replayed" | "dropped";
  readonly letters: number;
  readonly reason: string;
}

export interface DeadLetterRecord {
  /** Settled offsets, by partition of the dead letters. */
  readonly settled: ReadonlyMap<number, readonly OffsetRange[]>;
  /** Oldest first. */
  readonly actions: readonly DeadLetterAction[];
}

export async function readDeadLetterRecord(catalog: Catalog): Promise<DeadLetterRecord> {
  return (await read(catalog)).record;
}

/** Offsets of one partition that are settled; `first`: those before it are gone from the queue. */
export interface SettledLetters {
  readonly partition: number;
  readonly offsets: readonly number[];
  readonly first: number;
}

/** `letters`: undefined if the queue has removed them. */
export function addDeadLetterAction(
  catalog: Catalog,
  action: DeadLetterAction,
  letters: readonly SettledLetters[],
): Promise<void> {
  const message = "the list of dead letters is being changed by others; try again";
  return compareAndSet({ message }, async () => {
    const { record, version } = await read(catalog);
    const settled = new Map(record.settled);
    for (const { partition, offsets, first } of letters) {
      settled.set(partition, settle(settled.get(partition) ?? [], offsets, first));
    }
    const ranges = settled.values().reduce((sum, each) => sum + each.length, 0);
    if (ranges > SETTLED_RANGES_MAX) throw tooManyRanges();
    const actions = [...record.actions, action].slice(-ACTIONS_KEPT);
    const value = encodeStored({ settled: Object.fromEntries(settled), actions });
    const written = await catalog.write(SPACE, KEY, value, version);
    return written === undefined ? LOST : undefined;
  });
}

async function read(
  catalog: Catalog,
): Promise<{ readonly record: DeadLetterRecord; readonly version: number }> {
  const stored = await catalog.read(SPACE, KEY);
  if (stored === undefined) return { record: { settled: new Map(), actions: [] }, version: 0 };
  const { settled, actions } = decodeStored(schema, SPACE, stored);
  const byPartition = Object.entries(settled).map(
    ([partition, ranges]) => [Number(partition), ranges] as const,
  );
  return { record: { settled: new Map(byPartition), actions }, version: stored.version };
}

function tooManyRanges(): ServiceError {
  return new ServiceError(
    "REQUEST_INVALID",
    `more than ${SETTLED_RANGES_MAX} separate ranges of dead letters would be settled; settle those in between too, or all`,
    { details: { limit: SETTLED_RANGES_MAX } },
  );
}

const count = z.number().int().nonnegative();

const schema = storedObject({
  settled: z.record(z.string(), z.array(z.tuple([count, count]))),
  actions: z.array(
    storedObject({
      at: z.number().int(),
      by: z.string(),
      action: z.enum(["replayed", "dropped"]),
      letters: count,
      reason: z.string(),
    }),
  ),
});
