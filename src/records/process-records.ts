/**
 * The processes of an installation, as each announced itself: space `processes`, key = the name of
 * the process. A process writes its own record whole every few seconds and removes it when it
 * stops. Others only read it, and remove it when the process is gone.
 *
 * For people, and for a process with other margins: it does not start while another one runs. Nothing
 * else is decided by it.
 */
import { z } from "zod";
import { LOST, tryCompareAndSet } from "../lib/compare-and-set.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { decodeOrSkip, decodeStored, encodeStored, listAll, storedObject } from "./stored-json.ts";

const SPACE = "processes";

/** What a process does: answers callers, works on splits, or both. */
export const PROCESS_ROLES = ["SERVER", "WORKER", "SERVER_AND_WORKER"] as const;
export type ProcessRole = (typeof PROCESS_ROLES)[number];

export interface ProcessRecord {
  /** As in histories. */
  readonly name: string;
  readonly role: ProcessRole;
  readonly version: string;
  readonly build: string;
  readonly nodeVersion: string;
  readonly engine: string;
  readonly queue: string;
  /** The name of its machine. */
  readonly host: string;
  /** By the clock of that process, in microseconds, like `announcedAt`. */
  readonly startedAt: number;
  readonly announcedAt: number;
  /** The number of its views, and the age of the oldest when it announced itself. */
  readonly views: number;
  readonly oldestViewMs: number;
  /** Null if it has no filters. */
  readonly oldestFilterMs: number | null;
  readonly clockInDoubt: boolean;
  readonly draining: boolean;
}

export interface StoredProcess {
  readonly key: string;
  /** Changes with every announcement. */
  readonly version: number;
  /** Undefined if it cannot be decoded: it is of a newer version of Braid. */
  readonly process: ProcessRecord | undefined;
}

/** Every process that announced itself and was not removed since, by name. */
export async function readProcesses(catalog: Catalog): Promise<StoredProcess[]> {
  const all: StoredProcess[] = [];
  for await (const stored of listAll(catalog, SPACE)) {
    const process = decodeOrSkip(
      SPACE,
      stored,
      () => decode(stored),
      () => undefined,
    );
    all.push({ key: stored.key, version: stored.version, process });
  }
  return all;
}

/** Replaces what the process announced before. */
export async function writeProcess(catalog: Catalog, process: ProcessRecord): Promise<void> {
  const { name, ...fields } = process;
  await tryCompareAndSet(async () => {
    const stored = await catalog.read(SPACE, name);
    const written = await catalog.write(SPACE, name, encodeStored(fields), stored?.version ?? 0);
    return written === undefined ? LOST : undefined;
  });
}

/** Removes it, unless the process has announced itself since. */
export async function removeProcess(
  catalog: Catalog,
  { key, version }: Pick<StoredProcess, "key" | "version">,
): Promise<void> {
  await catalog.remove(SPACE, key, version);
}

/** Of a process that stops. */
export async function removeOwnProcess(catalog: Catalog, name: string): Promise<void> {
  const stored = await catalog.read(SPACE, name);
  if (stored !== undefined) await catalog.remove(SPACE, name, stored.version);
}

const count = z.number().nonnegative();

const processSchema: z.ZodType<Omit<ProcessRecord, "name">> = storedObject({
  role: z.enum(PROCESS_ROLES),
  version: z.string(),
  build: z.string(),
  nodeVersion: z.string(),
  engine: z.string(),
  queue: z.string(),
  host: z.string(),
  startedAt: z.number().int(),
  announcedAt: z.number().int(),
  views: count,
  oldestViewMs: count,
  oldestFilterMs: count.nullable(),
  clockInDoubt: z.boolean(),
  draining: z.boolean(),
});

function decode(stored: CatalogRecord): ProcessRecord {
  return { name: stored.key, ...decodeStored(processSchema, SPACE, stored) };
}
