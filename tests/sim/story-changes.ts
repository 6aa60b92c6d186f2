/** Changes of the catalog that matter in a story, in words. */
import type { CatalogRecord } from "../../src/ports/catalog.ts";

interface StoredSplit {
  readonly state: string;
  readonly history: readonly { readonly cause: string; readonly by: string }[];
  readonly segments: readonly { readonly from: number; readonly to: number }[];
}

interface StoredNamespace {
  readonly epoch: number;
  readonly phase: string;
  readonly readMode: { readonly mode: string; readonly reason: string };
}

/** Undefined if nobody needs to know. */
export function describeChange(
  space: string,
  before: CatalogRecord | undefined,
  after: CatalogRecord | undefined,
): string | undefined {
  if (after === undefined) return undefined;
  if (space.startsWith("splits/")) return describeSplit(space, before, after);
  if (space === "namespaces") return describeNamespace(before, after);
  if (space.startsWith("slices/")) return describeSlice(space, before, after);
  return undefined;
}

function describeSplit(
  space: string,
  before: CatalogRecord | undefined,
  after: CatalogRecord,
): string | undefined {
  const [was, is] = [parsed<StoredSplit>(before), parsed<StoredSplit>(after)];
  if (is === undefined || was?.state === is.state) return undefined;
  const [series = "", timeBucket = "", eventBucket = ""] = after.key.split("|");
  const [, namespace = "", slice = ""] = space.split("/");
  const { cause = "", by = "" } = is.history.at(-1) ?? {};
  const place = `${series} bucket ${timeBucket}.${eventBucket} of ${slice} in ${namespace}`;
  return `the split of ${place} goes to ${is.state} (${cause}, by ${by})`;
}

function describeNamespace(
  before: CatalogRecord | undefined,
  after: CatalogRecord,
): string | undefined {
  const [was, is] = [parsed<StoredNamespace>(before), parsed<StoredNamespace>(after)];
  if (was === undefined || is === undefined) return undefined;
  if (was.epoch !== is.epoch) return `${after.key} opens sealed time again: epoch ${is.epoch}`;
  if (was.phase !== is.phase) return `${after.key} is ${is.phase}`;
  if (was.readMode.mode === is.readMode.mode) return undefined;
  return `reads of ${after.key} go to ${is.readMode.mode} (${is.readMode.reason})`;
}

function describeSlice(
  space: string,
  before: CatalogRecord | undefined,
  after: CatalogRecord,
): string | undefined {
  const [was, is] = [parsed<{ state: string }>(before), parsed<{ state: string }>(after)];
  if (is === undefined || was?.state === is.state || was === undefined) return undefined;
  return `slice ${after.key} of ${space.slice(space.indexOf("/") + 1)} is ${is.state}`;
}

function parsed<T>(record: CatalogRecord | undefined): T | undefined {
  // Each space holds one kind of record.
  return record === undefined ? undefined : (JSON.parse(record.value) as T);
}
