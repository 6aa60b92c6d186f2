/**
 * Comparisons as the catalog stores them: space `verify/<namespace id>`, key = the comparison's id.
 * Those that are not finished are also in the space `verify-running`, so that a process finds them
 * without asking every namespace.
 *
 * The record is written before its entry, and ends before its entry is removed. An entry without a
 * running record means nothing, and starting the same comparison again writes the entry again.
 */
import { z } from "zod";
import { decodeStored, encodeStored, listAll, storedObject } from "../../records/stored-json.ts";
import type { Difference, VerifyProgress } from "../use-cases.ts";
import type { Catalog, CatalogRecord } from "../../ports/catalog.ts";

const RUNNING_SPACE = "verify-running";

/** What is compared. All null: every slice. */
export interface VerifyTarget {
  readonly slice: string | null;
  readonly partition: {
    readonly seriesId: string;
    readonly timeBucket: number;
    readonly eventBucket: number;
  } | null;
}

/** Where the next owner continues. */
export interface Checkpoint {
  /** Whether `splitsTotal` is known. */
  readonly counted: boolean;
  /** Slices before it are done. "" is before all. */
  readonly slice: string;
  /** Of the records of that slice. */
  readonly cursor: string;
  /** Splits behind the cursor that are begun: how many ranges of which copies are done. */
  readonly begun: Readonly<Record<string, BegunSplit>>;
}

export interface BegunSplit {
  readonly copies: string;
  readonly splitRanges: number;
}

export interface VerifyRecord extends VerifyProgress {
  readonly namespaceId: string;
  readonly target: VerifyTarget;
  readonly checkpoint: Checkpoint;
  /** Splits that were not compared, because no server follows them. */
  readonly splitsSkipped: number;
  /** Each new owner raises it. */
  readonly fence: number;
  /** The process that works on it; its heartbeat changes while it lives (rule C16). */
  readonly owner: { readonly by: string; readonly heartbeat: number } | null;
  /** 0: not written yet. */
  readonly version: number;
}

export async function readVerify(
  catalog: Catalog,
  namespaceId: string,
  verifyId: string,
): Promise<VerifyRecord | undefined> {
  const stored = await catalog.read(spaceOf(namespaceId), verifyId);
  return stored === undefined ? undefined : decode(namespaceId, stored);
}

/** All of a namespace, the oldest first: they are few. */
export async function listVerifies(catalog: Catalog, namespaceId: string): Promise<VerifyRecord[]> {
  const records: VerifyRecord[] = [];
  for await (const stored of listAll(catalog, spaceOf(namespaceId))) {
    records.push(decode(namespaceId, stored));
  }
  return records;
}

/** Writes over the version it was read with. Undefined if it has changed meanwhile. */
export async function writeVerify(
  catalog: Catalog,
  record: VerifyRecord,
): Promise<VerifyRecord | undefined> {
  const { namespaceId, verifyId, version, ...stored } = record;
  const value = encodeStored(stored);
  const written = await catalog.write(spaceOf(namespaceId), verifyId, value, version);
  return written === undefined ? undefined : { ...record, version: written };
}

export function removeVerify(catalog: Catalog, record: VerifyRecord): Promise<boolean> {
  return catalog.remove(spaceOf(record.namespaceId), record.verifyId, record.version);
}

export interface RunningVerify {
  readonly namespaceId: string;
  readonly verifyId: string;
}

export async function noteRunning(catalog: Catalog, running: RunningVerify): Promise<void> {
  // An existing entry means the same.
  await catalog.write(RUNNING_SPACE, runningKey(running), encodeStored({}), 0);
}

export async function listRunning(catalog: Catalog, limit: number): Promise<RunningVerify[]> {
  const page = await catalog.list(RUNNING_SPACE, "", limit);
  return page.map(({ key }) => {
    const bar = key.indexOf("|");
    return { namespaceId: key.slice(0, bar), verifyId: key.slice(bar + 1) };
  });
}

export async function removeRunning(catalog: Catalog, running: RunningVerify): Promise<void> {
  const stored = await catalog.read(RUNNING_SPACE, runningKey(running));
  if (stored !== undefined) await catalog.remove(RUNNING_SPACE, stored.key, stored.version);
}

function runningKey({ namespaceId, verifyId }: RunningVerify): string {
  return `${namespaceId}|${verifyId}`;
}

function spaceOf(namespaceId: string): string {
  return `verify/${namespaceId}`;
}

const count = z.number().int().nonnegative();
const bucket = { timeBucket: count, eventBucket: count };

const differenceSchema: z.ZodType<Difference> = storedObject({
  location: storedObject({
    namespace: z.string(),
    timeSlice: z.string(),
    seriesId: z.string(),
    ...bucket,
  }),
  kind: z.string(),
  eventTime: z.number(),
  eventId: z.string(),
  detail: z.string(),
});

const recordSchema: z.ZodType<Omit<VerifyRecord, "namespaceId" | "verifyId" | "version">> =
  storedObject({
    namespace: z.string(),
    target: storedObject({
      slice: z.string().nullable(),
      partition: storedObject({ seriesId: z.string(), ...bucket }).nullable(),
    }),
    state: z.enum(["RUNNING", "DONE", "FAILED", "STOPPED"]),
    splitsDone: count,
    splitsTotal: count,
    splitsSkipped: count,
    eventsCompared: count,
    bytesCompared: count,
    eventsTotal: count.optional(),
    bytesTotal: count.optional(),
    differences: z.array(differenceSchema),
    differencesFound: count,
    startedAt: z.number().int(),
    endedAt: z.number().int(),
    reason: z.string(),
    checkpoint: storedObject({
      counted: z.boolean(),
      slice: z.string(),
      cursor: z.string(),
      begun: z.record(z.string(), storedObject({ copies: z.string(), splitRanges: count })),
    }),
    fence: count,
    owner: storedObject({ by: z.string(), heartbeat: count }).nullable(),
  });

function decode(namespaceId: string, stored: CatalogRecord): VerifyRecord {
  const fields = decodeStored(recordSchema, spaceOf(namespaceId), stored);
  return { ...fields, namespaceId, verifyId: stored.key, version: stored.version };
}
