/**
 * How far the walk of a slice has come, so that another process continues it: space
 * `walk-positions/<namespace id>/<slice>`. The key `head` has the position; what the walk has added
 * up so far lies in chunks, keys `<number of the save>/<number>`, because it may be large.
 *
 * Chunks are written first and the head last, by compare-and-set: a process that no longer holds
 * the lease of walks finds another version and stops. Chunks of older saves are removed afterwards.
 */
import { z } from "zod";
import type { SliceRef } from "../model/partition.ts";
import type { Catalog } from "../ports/catalog.ts";
import { removeAll } from "./split-spaces.ts";
import { decodeStored, encodeStored, listAll, storedObject } from "./stored-json.ts";
import { gridCellsSchema } from "./width-map-records.ts";

const HEAD = "head";
const CHUNK_CHARACTERS = 100_000;
/** A walk that has added up more is not saved: it begins again after a restart. */
const CHARACTERS_MAX = 4_000_000;
/** Numbers of saves that other processes may have taken since. */
const SAVES_MAX = 100;

const count = z.number().nonnegative();

const distributionSchema = storedObject({
  count,
  total: count,
  min: count,
  max: count,
  buckets: z.array(z.tuple([count, count])),
});

const bucketSumSchema = z.tuple([count, count, count]);

const timeBucketsSchema = storedObject({
  bytes: distributionSchema,
  events: distributionSchema,
  widened: z.array(storedObject({ seconds: count, bytes: distributionSchema })),
  kept: z.number().positive().max(1),
  /** Ids that may have further partitions: time bucket, bytes, events. */
  ids: z.array(z.tuple([z.string(), z.array(bucketSumSchema)])),
});

const groupSchema = storedObject({
  bytes: distributionSchema,
  events: distributionSchema,
  timeBuckets: timeBucketsSchema,
  /** Not there if a process that knows no width map saved it: then the walk has none. */
  grids: storedObject({ bySize: gridCellsSchema, byHash: gridCellsSchema }).optional(),
});

const tallySchema = storedObject({
  share: z.number().positive().max(1),
  /** Ids that are counted beside the sample. */
  knownIds: z.array(z.string()),
  sampled: groupSchema,
  known: groupSchema,
  top: z.array(
    storedObject({
      seriesId: z.string(),
      timeBucket: count,
      eventBucket: count,
      bytes: count,
      events: count,
      exact: z.boolean(),
    }),
  ),
  lastId: z.string().nullable(),
  walked: count,
  notCounted: count,
  estimated: count,
  failed: count,
});

const headSchema = storedObject({
  asOf: z.number().int(),
  epoch: count,
  sealed: z.boolean(),
  after: z.string(),
  spentMs: count,
  save: z.number().int().nonnegative(),
  chunks: z.number().int().nonnegative(),
});

/** What a walk has added up so far. */
export type TallyState = Readonly<z.infer<typeof tallySchema>>;
export type TimeBucketsState = Readonly<z.infer<typeof timeBucketsSchema>>;

export interface WalkPosition {
  /** When the walk began, in microseconds. */
  readonly asOf: number;
  /** Of the namespace, when the walk began. */
  readonly epoch: number;
  readonly sealed: boolean;
  /** Where the next page begins. */
  readonly after: string;
  /** How long the walk has taken so far. */
  readonly spentMs: number;
  readonly tally: TallyState;
}

/** Of the stored head; `version` 0 if there is none. */
export interface PositionVersion {
  readonly version: number;
  readonly save: number;
}

export const NO_POSITION: PositionVersion = { version: 0, save: 0 };

/** Undefined if none is stored, or another process replaced it while it was read. */
export async function readWalkPosition(
  catalog: Catalog,
  slice: SliceRef,
): Promise<(WalkPosition & { readonly stored: PositionVersion }) | undefined> {
  const space = spaceOf(slice);
  const stored = await catalog.read(space, HEAD);
  if (stored === undefined) return undefined;
  const { chunks, save, ...head } = decodeStored(headSchema, space, stored);
  const texts: string[] = [];
  for (let nth = 0; nth < chunks; nth++) {
    const chunk = await catalog.read(space, chunkKey(save, nth));
    if (chunk === undefined) return undefined;
    texts.push(decodeStored(chunkSchema, space, chunk).text);
  }
  const tally = decodeStored(tallySchema, space, { ...stored, value: texts.join("") });
  return { ...head, tally, stored: { version: stored.version, save } };
}

/**
 * Undefined if the stored head is no longer the one that the caller knows. Returns the same version
 * if there is too much to be saved.
 */
export async function writeWalkPosition(
  catalog: Catalog,
  slice: SliceRef,
  { tally, ...position }: WalkPosition,
  known: PositionVersion,
): Promise<PositionVersion | undefined> {
  const space = spaceOf(slice);
  const text = encodeStored(tally);
  if (text.length > CHARACTERS_MAX) return known;
  const chunks = Math.ceil(text.length / CHUNK_CHARACTERS);
  const chunkOf = (nth: number): string =>
    encodeStored({ text: text.slice(nth * CHUNK_CHARACTERS, (nth + 1) * CHUNK_CHARACTERS) });
  // The first chunk takes the number of the save: a process that was overtaken, or died, has others.
  let save = known.save + 1;
  const last = known.save + SAVES_MAX;
  while ((await catalog.write(space, chunkKey(save, 0), chunkOf(0), 0)) === undefined) {
    if (save++ === last) return undefined;
  }
  for (let nth = 1; nth < chunks; nth++) {
    const written = await catalog.write(space, chunkKey(save, nth), chunkOf(nth), 0);
    if (written === undefined) return undefined;
  }
  const head = encodeStored({ ...position, save, chunks });
  const version = await catalog.write(space, HEAD, head, known.version);
  if (version === undefined) return undefined;
  for await (const { key, version: old } of listAll(catalog, space)) {
    if (key !== HEAD && !key.startsWith(savePrefix(save))) await catalog.remove(space, key, old);
  }
  return { version, save };
}

/** Of a walk that has ended, or of a slice that was dropped. */
export function removeWalkPosition(catalog: Catalog, slice: SliceRef): Promise<void> {
  return removeAll(catalog, spaceOf(slice));
}

function spaceOf({ namespaceId, slice }: SliceRef): string {
  return `walk-positions/${namespaceId}/${slice}`;
}

function savePrefix(save: number): string {
  return `${String(save).padStart(10, "0")}/`;
}

function chunkKey(save: number, nth: number): string {
  return `${savePrefix(save)}${String(nth).padStart(3, "0")}`;
}

const chunkSchema = storedObject({ text: z.string() });
