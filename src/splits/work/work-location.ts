/** The namespace, slice and bucket of a split, read when a worker checks it. */
import { locateNamespace } from "../../records/locate-namespace.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { readSlice } from "../../records/slice-records.ts";
import type { NamespaceView, ViewSource } from "../../model/namespace.ts";
import { timeBucketRange } from "../../model/partition.ts";
import type { SplitRecord } from "../../model/split.ts";
import type { TimeSlice } from "../../model/time-slice.ts";
import { interruptionOf } from "./interruption.ts";
import type { SplitContext } from "./split-context.ts";

export interface WorkLocation {
  /** As the catalog has it now. */
  readonly namespace: NamespaceRecord;
  readonly view: NamespaceView;
  readonly slice: TimeSlice;
  readonly bucket: { readonly start: number; readonly end: number };
}

/**
 * "gone": dropped for good. "closed": servers do not read the slice unless it is opened again.
 * "deleted": nor any other slice of the namespace, unless it is restored (rule C26).
 */
export async function findLocation(
  { catalog, views }: SplitContext,
  { namespace: name, partition }: SplitRecord,
): Promise<WorkLocation | "gone" | "closed" | "deleted"> {
  const { namespaceId, slice: sliceName } = partition;
  let view = await viewOf(views, name);
  if (view?.namespace.id !== namespaceId) {
    const located = await locateNamespace(catalog, namespaceId, name);
    if (typeof located === "string") return located;
    view = await viewOf(views, located.name);
    // Deleted a moment ago: whether it can be restored is clear when the split is due again.
    if (view === undefined) return "deleted";
  }
  // Read after the view, so that it is not older than the view.
  const namespace = await locateNamespace(catalog, namespaceId, view.namespace.name);
  if (typeof namespace === "string") return namespace;
  const slice = view.slices.find((each) => each.name === sliceName);
  if (slice === undefined || view.namespace.id !== namespaceId) {
    const stored = await readSlice(catalog, namespaceId, sliceName);
    return stored === undefined || stored.state === "DROPPED" ? "gone" : "closed";
  }
  return { namespace, view, slice, bucket: timeBucketRange(slice, partition.timeBucket) };
}

async function viewOf(views: ViewSource, name: string): Promise<NamespaceView | undefined> {
  try {
    return await views.get(name);
  } catch (error) {
    if (interruptionOf(error)?.kind === "gone") return undefined;
    throw error;
  }
}
