/**
 * Namespaces in the catalog: space `namespaces`, key = name. Every change is compare-and-set.
 *
 * Callers see a namespace only while it is READY. CREATING: its slices are being made. DELETING: a
 * creation has failed, and what it made is being removed. LEAVING: it is being moved to
 * `deleted/<id>` (`deleted-records.ts`), from where it can be restored. RESTORING: it is coming
 * back from there. A crash in any of them leaves a record that says how to continue.
 */
import { LRUCache } from "lru-cache";
import { z } from "zod";
import { LOST, tryCompareAndSet } from "../lib/compare-and-set.ts";
import { ServiceError } from "../lib/errors.ts";
import { forEachBounded } from "../lib/for-each-bounded.ts";
import { withEpochStart } from "../model/epochs.ts";
import type { EpochStarts } from "../model/epochs.ts";
import { SPLIT_LAYOUTS } from "../model/layouts.ts";
import type { Namespace } from "../model/namespace.ts";
import type { NamespaceConfig } from "../model/namespace-config.ts";
import type { ProvisionedPlan } from "../model/partition-plan.ts";
import { READ_MODES } from "../model/read-mode.ts";
import type { Catalog, CatalogRecord, CatalogVersion } from "../ports/catalog.ts";
import { sliceChangeSchema, sliceFields } from "./slice-change.ts";
import type { SliceChange } from "./slice-change.ts";
import { decodeStored, encodeStored, storedObject } from "./stored-json.ts";

const SPACE = "namespaces";
/**
 * Few enough that a page is still young when its last one is processed, enough that thousands cost
 * few reads.
 */
const NAMESPACES_PAGE = 500;
/** Versions are small. */
const VERSIONS_PAGE = 5_000;
/** If more of a page than this share are not known, one listing costs less than reading each. */
const READ_EACH_SHARE = 0.1;
/** Beyond it, records are decoded again. */
const DECODED_MAX = 20_000;

/**
 * Decoded records by name: many tasks pass over thousands of namespaces again and again, of which few
 * have changed. A catalog uses no version of a record twice.
 */
const decodedBy = new WeakMap<Catalog, LRUCache<string, NamespaceRecord>>();

export interface NamespaceRecord extends Namespace {
  readonly phase: "CREATING" | "READY" | "DELETING" | "LEAVING" | "RESTORING";
  /** Of a LEAVING one; else null. */
  readonly deletion: Deletion | null;
  /** Of a RESTORING one: the version of the record in `deleted` that it was made from; else null. */
  readonly restores: number | null;
  /**
   * Event time that was opened again, and whose splits have not returned to DETECTED yet. They do
   * slice by slice, when the floor has passed it (rule C17); `from` rises with each slice.
   */
  readonly resealing: { readonly from: number; readonly to: number } | null;
  /**
   * The settled floor, below which workers may copy (rules C1 and C24), as `settledFloorOf` gives
   * it. It carries its epoch, because a server of an older version begins an epoch without it.
   */
  readonly settled: { readonly epoch: number; readonly floor: number };
  /** Raised when the records of its slices have changed, so that a view re-reads them only then. */
  readonly slicesChange: number;
  /**
   * A decision on its slices that is not carried out yet. Until it is, no process makes another
   * decision, and a view re-reads the slices each time.
   */
  readonly changing: SliceChange | null;
  /** The same for its blocked ids: raised when a change of them begins and when it ends. */
  readonly blockedChange: number;
  /**
   * Changes of its blocked ids that are under way, each by the `blockedChange` it began with. Until
   * they end, a view re-reads the ids each time: some may be stored already, whatever happens to
   * the rest.
   */
  readonly blockedChanging: readonly number[];
  /** About how many ids are blocked; too low only after a crash. */
  readonly blockedCount: number;
  /** The same for the strategies of its ids. */
  readonly idStrategyChange: number;
  readonly idStrategyChanging: readonly IdStrategyChanging[];
  /** About how many ids have one; never too low. */
  readonly idStrategyCount: number;
}

/** Who deleted a namespace, when and why. */
export interface Deletion {
  /** Believed time. */
  readonly at: number;
  /** The clock was in doubt: the time may be wrong by any amount. */
  readonly inDoubt: boolean;
  readonly by: string;
  readonly reason: string;
  /** Without a grace. */
  readonly purge: boolean;
}

/** A change of an id's strategy that is under way, by the `idStrategyChange` it began with. */
export interface IdStrategyChanging {
  readonly began: number;
  readonly seriesId: string;
}

/** A namespace that cannot be read is given as its error. */
export interface ListedNamespace {
  readonly name: string;
  readonly record: NamespaceRecord | ServiceError;
}

/** Undefined if it does not exist. Includes namespaces that are being created or deleted. */
export async function readNamespace(
  catalog: Catalog,
  name: string,
): Promise<NamespaceRecord | undefined> {
  const stored = await catalog.read(SPACE, name);
  return stored === undefined ? undefined : decode(catalog, stored);
}

/** For callers: only a namespace that is READY; otherwise NAMESPACE_NOT_FOUND. */
export async function readReadyNamespace(catalog: Catalog, name: string): Promise<NamespaceRecord> {
  return requireReady(await readNamespace(catalog, name), name);
}

/** At most `limit` in the order of their names, in any phase. */
export async function listNamespaces(
  catalog: Catalog,
  after: string,
  limit: number,
): Promise<ListedNamespace[]> {
  const page = await catalog.list(SPACE, after, limit);
  return page.map((stored) => listed(catalog, stored));
}

/** A page of names with their versions; `after` is undefined at the end. */
export async function listNamespaceVersions(
  catalog: Catalog,
  after: string,
  limit: number = VERSIONS_PAGE,
): Promise<{ readonly versions: readonly CatalogVersion[]; readonly after: string | undefined }> {
  const versions = await catalog.versions(SPACE, after, limit);
  return { versions, after: versions.length < limit ? undefined : versions.at(-1)?.key };
}

/**
 * Every namespace in the order of names, in any phase, by bounded pages: each page is requested
 * when the previous one has been processed. Reads only the records that have changed since this
 * process last decoded them. Ends when the signal aborts.
 */
export async function* namespacePages(
  catalog: Catalog,
  signal?: AbortSignal,
): AsyncGenerator<readonly ListedNamespace[], void, undefined> {
  for (let after: string | undefined = ""; after !== undefined && signal?.aborted !== true;) {
    const page = await listNamespaceVersions(catalog, after, NAMESPACES_PAGE);
    const records = await readPage(catalog, after, page.versions);
    if (records.length > 0) yield records;
    after = page.after;
  }
}

async function readPage(
  catalog: Catalog,
  after: string,
  versions: readonly CatalogVersion[],
): Promise<readonly ListedNamespace[]> {
  const known = decodedBy.get(catalog);
  const unknown = versions.filter(({ key, version }) => known?.peek(key)?.version !== version);
  if (unknown.length > READ_EACH_SHARE * versions.length) {
    return listNamespaces(catalog, after, versions.length);
  }
  const read = new Map<string, ListedNamespace | undefined>();
  await forEachBounded(unknown, async ({ key }) => {
    const stored = await catalog.read(SPACE, key);
    read.set(key, stored === undefined ? undefined : listed(catalog, stored));
  });
  return versions.flatMap(({ key }) => {
    // One that was removed meanwhile is left out.
    if (read.has(key)) return read.get(key) ?? [];
    const record = known?.peek(key);
    return record === undefined ? [] : { name: key, record };
  });
}

/** Like `namespacePages`, one by one. */
export async function* eachNamespace(
  catalog: Catalog,
  signal?: AbortSignal,
): AsyncGenerator<ListedNamespace, void, undefined> {
  for await (const page of namespacePages(catalog, signal)) yield* page;
}

/**
 * Writes over the version the record was read with (0: a new one). Undefined if it has changed
 * meanwhile.
 */
export async function writeNamespace(
  catalog: Catalog,
  record: NamespaceRecord,
): Promise<NamespaceRecord | undefined> {
  const { name, version, ...stored } = record;
  const written = await catalog.write(SPACE, name, encodeStored(stored), version);
  if (written === undefined) return undefined;
  keep(catalog, { ...record, epochStarts: completeStarts(record), version: written });
  return { ...record, version: written };
}

/**
 * Reads, changes and writes until no other process wrote in between, a bounded number of times;
 * then CONFLICT. `change` may run several times; undefined leaves the record unchanged.
 */
export async function updateNamespace(
  catalog: Catalog,
  name: string,
  change: (current: NamespaceRecord) => NamespaceRecord | undefined,
): Promise<NamespaceRecord> {
  const updated = await tryCompareAndSet(async () => {
    const current = await readNamespace(catalog, name);
    if (current === undefined) throw namespaceNotFound(name);
    const next = change(current);
    return next === undefined ? current : ((await writeNamespace(catalog, next)) ?? LOST);
  });
  if (updated === LOST) throw namespaceConflict(name);
  return updated;
}

/** Removes it if it still has that version. */
export function removeNamespace(catalog: Catalog, record: NamespaceRecord): Promise<boolean> {
  return catalog.remove(SPACE, record.name, record.version);
}

export function requireReady(record: NamespaceRecord | undefined, name: string): NamespaceRecord {
  if (record?.phase !== "READY") throw namespaceNotFound(name);
  return record;
}

export function namespaceNotFound(name: string): ServiceError {
  return new ServiceError(
    "NAMESPACE_NOT_FOUND",
    `there is no namespace "${name.slice(0, 60)}"; create it first, or list the existing ones`,
    { details: { namespace: name.slice(0, 60) } },
  );
}

export function beingMoved(name: string, doing: "deleted" | "restored"): ServiceError {
  return new ServiceError("CONFLICT", `namespace "${name}" is being ${doing}; try again soon`, {
    details: { namespace: name },
    retryAfterMs: 1_000,
  });
}

export function namespaceConflict(name: string): ServiceError {
  return new ServiceError(
    "CONFLICT",
    `another process changed namespace "${name}" meanwhile; check it and try again`,
    { details: { namespace: name }, retryAfterMs: 1_000 },
  );
}

/** The error for a caller while another process makes or drops slices of the namespace. */
export function slicesBusy(name: string): ServiceError {
  return new ServiceError(
    "CONFLICT",
    `another server is changing the slices of namespace "${name}"; try again soon`,
    { details: { namespace: name }, retryAfterMs: 5_000 },
  );
}

/** The lateness that is accepted now or soon: slices and floor have to allow for it. */
export function widestAcceptMicros(record: NamespaceRecord): number {
  return Math.max(record.config.acceptLimitMicros, record.reopening?.acceptLimitMicros ?? 0);
}

/**
 * The settled floor: no process can have a write below it under way, nor begin one in this epoch. 0
 * if none is stored. Never above the floor.
 */
export function settledFloorOf({
  epoch,
  floor,
  settled,
}: Pick<NamespaceRecord, "epoch" | "floor" | "settled">): number {
  return settled.epoch === epoch ? Math.min(settled.floor, floor) : 0;
}

/** Ends changes of the blocked ids, for the processes that made them or because those have died. */
export function endedBlockedChanges(
  { blockedChange, blockedChanging }: NamespaceRecord,
  ended: readonly number[],
): Pick<NamespaceRecord, "blockedChange" | "blockedChanging"> {
  return {
    // A view that read the ids meanwhile may have missed the last of them.
    blockedChange: blockedChange + 1,
    blockedChanging: blockedChanging.filter((began) => !ended.includes(began)),
  };
}

/** The same for the strategies of ids. */
export function endedIdStrategyChanges(
  { idStrategyChange, idStrategyChanging }: NamespaceRecord,
  ended: readonly number[],
): Pick<NamespaceRecord, "idStrategyChange" | "idStrategyChanging"> {
  return {
    idStrategyChange: idStrategyChange + 1,
    idStrategyChanging: idStrategyChanging.filter(({ began }) => !ended.includes(began)),
  };
}

/**
 * The record with another configuration, and with the facts that must be remembered of it for good.
 */
export function configured(record: NamespaceRecord, config: NamespaceConfig): NamespaceRecord {
  const everEventual = record.everEventual || config.consistency === "EVENTUAL";
  return { ...record, config, everEventual };
}

const count = z.number().int().nonnegative();

const latencySchema = storedObject({ targetMs: z.number(), maxMs: z.number() });

const configSchema: z.ZodType<NamespaceConfig> = storedObject({
  timePartition: sliceFields.timePartition,
  acceptLimitMicros: count,
  futureLimitMicros: count,
  retention: storedObject({ closeAfterMicros: count, deleteAfterMicros: count }),
  slos: storedObject({ read: latencySchema, write: latencySchema }),
  consistency: z.enum(["READ_YOUR_WRITES", "EVENTUAL"]),
  widePartition: storedObject({
    detect: z.boolean(),
    bytesMax: count,
    eventsMax: count,
    targetBytes: count,
    maxParts: count,
    layout: z.enum(SPLIT_LAYOUTS),
    strategy: z.string(),
    whenHarmless: z.enum(["SPLIT", "LEAVE"]).default("SPLIT"),
  }),
  tuning: storedObject({
    mode: z.enum(["PROPOSE", "OFF", "AUTO"]),
    densityMinBytes: count,
    densityMaxBytes: count,
  }),
});

const bandSchema = storedObject({ low: z.number(), mid: z.number(), high: z.number() });

const provisionedSchema: z.ZodType<ProvisionedPlan> = storedObject({
  plannedAt: z.number().int(),
  seed: count,
  plan: storedObject({
    timePartition: sliceFields.timePartition,
    regret: z.number(),
    costs: storedObject({
      reads: z.number(),
      wide: z.number(),
      hotSpots: z.number(),
      disk: z.number(),
      tables: z.number(),
    }),
    p50Bytes: bandSchema,
    p99Bytes: bandSchema,
    maxBytes: bandSchema,
    idsBeyondLimit: bandSchema,
    readsBeyondLimit: bandSchema,
    bytesBeyondLimit: bandSchema,
    partitionsPerRead: bandSchema,
    readOverheadMs: bandSchema,
    peakWritesPerPartition: bandSchema,
    tables: count,
    diskBytes: bandSchema,
  }),
  why: z.array(z.string()),
});

export const deletionFields: z.ZodType<Deletion> = storedObject({
  at: z.number().int(),
  inDoubt: z.boolean(),
  by: z.string(),
  reason: z.string(),
  purge: z.boolean(),
});

const storedFields = storedObject({
  id: z.string().min(1),
  config: configSchema,
  epoch: count,
  floor: z.number().int(),
  settled: storedObject({ epoch: count, floor: count }).default({ epoch: 0, floor: 0 }),
  createdAt: z.number().int(),
  phase: z.enum(["CREATING", "READY", "DELETING", "LEAVING", "RESTORING"]),
  deletion: deletionFields.nullable().default(null),
  restores: count.nullable().default(null),
  epochStarts: z.array(storedObject({ epoch: count, floor: z.number().int() })).default([]),
  reopening: storedObject({
    acceptLimitMicros: count,
    sealedBelow: z.number().int().default(0),
  }).nullable(),
  resealing: storedObject({ from: z.number().int(), to: z.number().int() })
    .nullable()
    .default(null),
  slicesChange: count,
  changing: sliceChangeSchema.nullable(),
  blockedChange: count,
  blockedChanging: z.array(count),
  blockedCount: count,
  readMode: storedObject({
    mode: z.enum(READ_MODES),
    autoAdvance: z.boolean(),
    since: z.number().int(),
    by: z.string(),
    reason: z.string(),
    round: count,
    kinds: z.array(z.string()).nullable(),
  }),
  splitsPaused: storedObject({
    at: z.number().int(),
    by: z.string(),
    reason: z.string(),
  }).nullable(),
  everEventual: z.boolean(),
  provisioned: provisionedSchema.optional(),
  idStrategyChange: count,
  idStrategyChanging: z.array(storedObject({ began: count, seriesId: z.string() })),
  idStrategyCount: count,
});

/** A stored namespace beside its name. */
export const namespaceFields: z.ZodType<Omit<NamespaceRecord, "name" | "version">> =
  storedFields.transform((fields) => ({ ...fields, epochStarts: completeStarts(fields) }));

function listed(catalog: Catalog, stored: CatalogRecord): ListedNamespace {
  try {
    return { name: stored.key, record: decode(catalog, stored) };
  } catch (error) {
    if (error instanceof ServiceError) return { name: stored.key, record: error };
    throw error;
  }
}

function decode(catalog: Catalog, stored: CatalogRecord): NamespaceRecord {
  const { key: name, version } = stored;
  const same = decodedBy.get(catalog)?.get(name);
  if (same?.version === version) return same;
  return keep(catalog, { ...decodeStored(namespaceFields, SPACE, stored), name, version });
}

function keep(catalog: Catalog, record: NamespaceRecord): NamespaceRecord {
  const known = decodedBy.get(catalog) ?? new LRUCache({ max: DECODED_MAX });
  decodedBy.set(catalog, known);
  known.set(record.name, record);
  return record;
}

/**
 * A server of an older version begins an epoch without its pair: then no copy of an earlier epoch
 * counts.
 */
function completeStarts({
  epoch,
  epochStarts,
}: Pick<Namespace, "epoch" | "epochStarts">): EpochStarts {
  if ((epochStarts.at(-1)?.epoch ?? 0) >= epoch) return epochStarts;
  return withEpochStart(epochStarts, { epoch, floor: 0 });
}
