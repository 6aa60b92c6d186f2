/**
 * The tunings of a namespace: space `tunings/<namespace id>`, key = the tuning's id, one record
 * each. Above a limit the oldest are removed.
 */
import { z } from "zod";
import type { Tuning, TunedSizes, TuningMove } from "../model/tuning.ts";
import { TUNING_STATES } from "../model/tuning.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { sliceFields } from "./slice-change.ts";
import { decodeOrSkip, decodeStored, encodeStored, listAll, storedObject } from "./stored-json.ts";
import type { UnreadableEntry } from "./stored-json.ts";

/** A tuning as it is stored. */
export interface TuningRecord extends Tuning {
  /** 0: not written yet. */
  readonly version: number;
}

/** Years of changes; each is about 1 KB. */
const TUNINGS_MAX = 200;

/** Oldest first. A record that cannot be decoded is given to `skip`. */
export async function readTunings(
  catalog: Catalog,
  namespaceId: string,
  skip: (entry: UnreadableEntry) => void = () => undefined,
): Promise<TuningRecord[]> {
  const space = tuningsSpace(namespaceId);
  const tunings: TuningRecord[] = [];
  for await (const stored of listAll(catalog, space)) {
    const tuning = decodeOrSkip(space, stored, () => decode(space, stored), skip);
    if (tuning !== undefined) tunings.push(tuning);
  }
  return tunings.sort((a, b) => madeAt(a) - madeAt(b) || (a.id < b.id ? -1 : 1));
}

export async function readTuning(
  catalog: Catalog,
  namespaceId: string,
  id: string,
): Promise<TuningRecord | undefined> {
  const space = tuningsSpace(namespaceId);
  const stored = await catalog.read(space, id);
  return stored === undefined ? undefined : decode(space, stored);
}

/** Writes over the version it was read with. Undefined if it has changed meanwhile. */
export async function writeTuning(
  catalog: Catalog,
  namespaceId: string,
  tuning: TuningRecord,
): Promise<TuningRecord | undefined> {
  const { id, version, ...fields } = tuning;
  const space = tuningsSpace(namespaceId);
  const written = await catalog.write(space, id, encodeStored(fields), version);
  return written === undefined ? undefined : { ...tuning, version: written };
}

/** Removes the oldest above the limit. `tunings` are oldest first. */
export async function trimTunings(
  catalog: Catalog,
  namespaceId: string,
  tunings: readonly TuningRecord[],
  keptMax: number = TUNINGS_MAX,
): Promise<void> {
  for (const { id, version } of tunings.slice(0, Math.max(0, tunings.length - keptMax))) {
    await catalog.remove(tuningsSpace(namespaceId), id, version);
  }
}

function tuningsSpace(namespaceId: string): string {
  return `tunings/${namespaceId}`;
}

function madeAt({ history }: Tuning): number {
  return history[0]?.at ?? 0;
}

const bytes = z.number().nonnegative();
const sizes: z.ZodType<TunedSizes> = storedObject({ p50: bytes, p95: bytes, p99: bytes });
const move: z.ZodType<TuningMove> = storedObject({
  at: z.number().int(),
  by: z.string(),
  to: z.enum(TUNING_STATES),
  why: z.string(),
});

const tuningSchema: z.ZodType<Omit<Tuning, "id">> = storedObject({
  state: z.enum(TUNING_STATES),
  direction: z.enum(["WIDEN", "NARROW"]),
  evidence: z.array(z.string()),
  observed: z.string(),
  proposed: z.string(),
  from: sliceFields.timePartition,
  to: sliceFields.timePartition,
  dryRun: storedObject({
    before: sizes,
    after: sizes,
    partitionsPerDayBefore: bytes,
    partitionsPerDayAfter: bytes,
    keptLongerSeconds: bytes,
    keptLongerBytes: bytes,
  }),
  effectiveFrom: z.number().int(),
  got: sizes.nullable(),
  history: z.array(move),
});

function decode(space: string, stored: CatalogRecord): TuningRecord {
  const fields = decodeStored(tuningSchema, space, stored);
  return { ...fields, id: stored.key, version: stored.version };
}
