/**
 * The numbers of all splits, as last counted: space `split-summaries`, key = the namespace's name,
 * and the sum of all in space `service`, key `split-summary`, with the time.
 *
 * One process counts for all and writes only what has changed; the others read the result here. A
 * process that loses a race leaves the record unchanged: it holds a newer count.
 */
import { z } from "zod";
import { SPLIT_STATES } from "../model/split.ts";
import type { SplitSummary } from "../model/split-summary.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { distribution } from "./histogram-records.ts";
import { decodeOrSkip, decodeStored, encodeStored, listAll, storedObject } from "./stored-json.ts";
import type { UnreadableEntry } from "./stored-json.ts";

const SPACE = "split-summaries";
const TOTAL_SPACE = "service";
const TOTAL_KEY = "split-summary";

export interface NamedSummary extends SplitSummary {
  readonly namespace: string;
}

export interface TotalSummary extends SplitSummary {
  /** Microseconds. */
  readonly countedAt: number;
}

/** Undefined before the first count. */
export async function readTotalSummary(catalog: Catalog): Promise<TotalSummary | undefined> {
  const stored = await catalog.read(TOTAL_SPACE, TOTAL_KEY);
  if (stored === undefined) return undefined;
  const { countedAt, ...fields } = decodeStored(totalSchema, TOTAL_SPACE, stored);
  return { ...summaryOf(fields), countedAt };
}

/** Undefined if the namespace had no splits when they were counted. */
export async function readSummary(
  catalog: Catalog,
  namespace: string,
): Promise<NamedSummary | undefined> {
  const stored = await catalog.read(SPACE, namespace);
  return stored === undefined ? undefined : decode(stored);
}

/**
 * At most `limit` of them, by name, behind `after` ("" for the first). One that cannot be decoded is
 * given to `skip` (rule C28). `last`: the name to continue behind; "" at the end.
 */
export async function listSummaries(
  catalog: Catalog,
  after: string,
  limit: number,
  skip: (entry: UnreadableEntry) => void,
): Promise<{ readonly summaries: readonly NamedSummary[]; readonly last: string }> {
  const page = await catalog.list(SPACE, after, limit);
  const summaries: NamedSummary[] = [];
  for (const stored of page) {
    const summary = decodeOrSkip(SPACE, stored, () => decode(stored), skip);
    if (summary !== undefined) summaries.push(summary);
  }
  return { summaries, last: page.length < limit ? "" : (page.at(-1)?.key ?? "") };
}

/** Replaces all: those of other namespaces are removed. */
export async function writeSummaries(
  catalog: Catalog,
  summaries: ReadonlyMap<string, SplitSummary>,
  total: TotalSummary,
): Promise<void> {
  const wanted = new Map(summaries);
  for await (const { key, value, version } of listAll(catalog, SPACE)) {
    const summary = wanted.get(key);
    wanted.delete(key);
    if (summary === undefined) await catalog.remove(SPACE, key, version);
    else if (encode(summary) !== value) await catalog.write(SPACE, key, encode(summary), version);
  }
  for (const [name, summary] of wanted) await catalog.write(SPACE, name, encode(summary), 0);
  const before = await catalog.read(TOTAL_SPACE, TOTAL_KEY);
  const { countedAt, ...sums } = total;
  const value = encodeStored({ countedAt, ...fieldsOf(sums) });
  await catalog.write(TOTAL_SPACE, TOTAL_KEY, value, before?.version ?? 0);
}

function encode(summary: SplitSummary): string {
  return encodeStored(fieldsOf(summary));
}

function fieldsOf({ states, ...sums }: SplitSummary) {
  return { states: Object.fromEntries(states), ...sums };
}

function decode(stored: CatalogRecord): NamedSummary {
  return { ...summaryOf(decodeStored(summarySchema, SPACE, stored)), namespace: stored.key };
}

function summaryOf({ states, ...sums }: z.infer<typeof summarySchema>): SplitSummary {
  return { ...sums, states: new Map(SPLIT_STATES.map((state) => [state, states[state] ?? 0])) };
}

const count = z.number().nonnegative();

const fields = {
  states: z.record(z.string(), count),
  before: distribution,
  after: distribution,
  partsEstimated: count,
  divertedBytes: count,
  storageBytes: count,
  unreadable: count,
};

const summarySchema = storedObject(fields);
const totalSchema = storedObject({ countedAt: z.number().int(), ...fields });
