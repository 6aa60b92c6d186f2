/**
 * Reads both sides of a difference again, at ALL (rule C14), and classifies it.
 *
 * A difference is discarded if the split's time was opened again, or its slice or route changed,
 * during the recheck. So the recheck asks before and after its reads whether servers still follow
 * the split.
 */
import { fromUtf8 } from "../../lib/bytes.ts";
import { ServiceError } from "../../lib/errors.ts";
import { locateNamespace } from "../../records/locate-namespace.ts";
import { readRoute } from "../../records/route-records.ts";
import { readSlice } from "../../records/slice-records.ts";
import { isSealed } from "../../model/epochs.ts";
import type { NamespaceConfig } from "../../model/namespace-config.ts";
import type { RouteSegment } from "../../model/split.ts";
import { findDifference } from "../../parts/find-difference.ts";
import { IntegrityError } from "../../parts/part-reader.ts";
import type { Catalog } from "../../ports/catalog.ts";
import type { ServiceLevel } from "../../ports/event-store.ts";
import type { Position } from "../../wire/frames.ts";
import { formatTime } from "../../wire/time-text.ts";
import type { ComparisonReaders, Side } from "./comparison-readers.ts";
import type { Comparison } from "../serve/comparison.ts";
import type { DifferenceVerdict } from "../serve/observer.ts";

/** What is wrong with a split. */
export interface Finding {
  readonly verdict: Exclude<DifferenceVerdict, "VANISHED" | "NOT_CHECKED">;
  readonly detail: string;
  /** The name of the namespace, which may have been restored under another one. */
  readonly namespace: string;
}

export type Recheck =
  | Finding
  | { readonly verdict: "VANISHED"; readonly detail: string }
  /** `served` false: no server follows that copy any more, and none will again. */
  | { readonly verdict: "NOT_CHECKED"; readonly detail: string; readonly served: boolean };

/** The state of the namespace that a finding depends on. */
interface Ground {
  readonly name: string;
  readonly config: NamespaceConfig;
}

const NOT_SERVED: Recheck = {
  verdict: "NOT_CHECKED",
  detail: "the split is not served any more",
  served: false,
};
const REOPENED: Recheck = {
  verdict: "NOT_CHECKED",
  detail: "time of the namespace is being opened again",
  served: true,
};

/** The copy is served again if the namespace is restored (rule C26). */
const DELETED: Recheck = {
  verdict: "NOT_CHECKED",
  detail: "the namespace is deleted",
  served: true,
};

export async function recheckDifference(
  catalog: Catalog,
  readers: ComparisonReaders,
  comparison: Comparison,
  signal: AbortSignal,
): Promise<Recheck> {
  const before = await groundOf(catalog, comparison);
  if ("verdict" in before) return before;
  const found = await compareAtAll(readers, comparison, atAll(before.config), signal);
  if (found.verdict === "VANISHED") return { ...found, verdict: found.verdict };
  const after = await groundOf(catalog, comparison);
  if ("verdict" in after) return after;
  return { ...found, verdict: found.verdict, namespace: after.name };
}

/** Whether servers may still follow that copy. */
export async function isServed(catalog: Catalog, comparison: Comparison): Promise<boolean> {
  const ground = await groundOf(catalog, comparison);
  return ground !== NOT_SERVED;
}

/** The state that the catalog has now. */
async function groundOf(
  catalog: Catalog,
  { namespace, partition, read }: Comparison,
): Promise<Ground | Recheck> {
  const { namespaceId, slice: sliceName } = partition;
  const found = await locateNamespace(catalog, namespaceId, namespace);
  if (found === "gone") return NOT_SERVED;
  if (found === "deleted") return DELETED;
  const slice = await readSlice(catalog, namespaceId, sliceName);
  if (slice === undefined || slice.state === "DROPPED") return NOT_SERVED;
  const route = await readRoute(catalog, partition);
  if (route?.segments.some((listed) => isSameCopy(listed, read.segment)) !== true) {
    return NOT_SERVED;
  }
  if (isSealed(found.epochStarts, read.segment)) {
    return { name: found.name, config: found.config };
  }
  // Until the re-opening is complete, a server with an older view may follow the copy.
  return found.reopening === null ? NOT_SERVED : REOPENED;
}

interface Compared {
  readonly verdict: Exclude<DifferenceVerdict, "NOT_CHECKED">;
  readonly detail: string;
}

async function compareAtAll(
  readers: ComparisonReaders,
  { partition, read }: Comparison,
  level: ServiceLevel,
  signal: AbortSignal,
): Promise<Compared> {
  const { range, segment, last } = read;
  const original = readers.original(partition, range, level, signal);
  try {
    const split = await openSplit(readers.split(partition, segment, range, level, signal));
    try {
      const found = await findDifference(original, split, range.order, last);
      if (found === undefined) return { verdict: "VANISHED", detail: "both sides agree by now" };
      return { verdict: found.kind, detail: nameOf(found.at) };
    } finally {
      await split.close();
    }
  } catch (error) {
    if (!(error instanceof IntegrityError) || error.reason === "storage") throw error;
    return { verdict: "UNREADABLE", detail: error.message };
  } finally {
    await original.close();
  }
}

/** A split whose list of parts is incomplete cannot be read; no waiting brings the parts back. */
async function openSplit(opening: Promise<Side>): Promise<Side> {
  try {
    return await opening;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== "DATA_LOSS") throw error;
    throw new IntegrityError("gap between parts", error.message, { cause: error });
  }
}

type Copy = Pick<RouteSegment, "from" | "to" | "generation">;

export function isSameCopy(a: Copy, b: Copy): boolean {
  return a.from === b.from && a.to === b.to && a.generation === b.generation;
}

/** No caller waits, so this read may be slow. */
function atAll({ slos }: NamespaceConfig): ServiceLevel {
  return { ...slos.read, consistency: "ALL" };
}

function nameOf({ time, id }: Position): string {
  return `${JSON.stringify(fromUtf8(id))} at ${formatTime(time)}`;
}
