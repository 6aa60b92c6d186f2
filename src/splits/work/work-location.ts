/** The namespace, slice and bucket of a split, read when a worker checks it. */
import { readNamespace } from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { readSlice } from "../../records/slice-records.ts";
import type { NamespaceView } from "../../model/namespace.ts";
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

/** "gone": dropped for good. "closed": servers do not read the slice unless it is opened again. */
export async function findLocation(
  { catalog, views }: SplitContext,
  { namespace: name, partition }: SplitRecord,
): Promise<WorkLocation | "gone" | "closed"> {
  let view: NamespaceView;
  try {
    view = await views.get(name);
  } catch (error) {
    if (interruptionOf(error)?.kind === "gone") return "gone";
    throw error;
  }
  // Read after the view, so that it is not older than the view.
  const namespace = await readNamespace(catalog, name);
  if (namespace?.phase !== "READY" || namespace.id !== partition.namespaceId) return "gone";
  const slice = view.slices.find((each) => each.name === partition.slice);
  if (slice === undefined || view.namespace.id !== partition.namespaceId) {
    const stored = await readSlice(catalog, partition.namespaceId, partition.slice);
    return stored === undefined || stored.state === "DROPPED" ? "gone" : "closed";
  }
  return { namespace, view, slice, bucket: timeBucketRange(slice, partition.timeBucket) };
}
