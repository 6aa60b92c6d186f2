/**
 * Records the calls of the storage engine, whichever it is: a decorator of its two ports. Calls that
 * belong to no trace, such as those of the reconcilers, pass through.
 *
 * Keys of records may hold time series ids, so spans name the kind of a record only.
 */
import { endWith } from "../lib/tracer.ts";
import type { Span, SpanValues, Tracer } from "../lib/tracer.ts";
import type { SliceRef } from "../model/partition.ts";
import { namespaceNameOf } from "../model/namespace.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { EventStore } from "../ports/event-store.ts";
import type { Storage } from "../ports/storage.ts";

export function tracedStorage({ store, catalog }: Storage, tracer: Tracer): Storage {
  return { store: tracedStore(store, tracer), catalog: tracedCatalog(catalog, tracer) };
}

function tracedStore(store: EventStore, tracer: Tracer): EventStore {
  const begin = (operation: string, slice: SliceRef, values: SpanValues = {}): Span | undefined =>
    tracer.child(`store ${operation}`, "CLIENT", {
      "db.operation.name": operation,
      "db.namespace": namespaceNameOf(slice.namespaceId),
      "db.collection.name": slice.slice,
      ...values,
    });
  const call = <T>(
    operation: string,
    slice: SliceRef,
    work: () => Promise<T>,
    values?: SpanValues,
  ): Promise<T> => {
    const span = begin(operation, slice, values);
    return span === undefined ? work() : endWith(span, work);
  };
  const { findTimeBucket, listIds } = store;
  return {
    createSlice: (slice) => call("createSlice", slice, () => store.createSlice(slice)),
    dropSlice: (slice) => call("dropSlice", slice, () => store.dropSlice(slice)),
    dropNamespace: (namespaceId) => store.dropNamespace(namespaceId),
    append: (slice, events, level) =>
      call("append", slice, () => store.append(slice, events, level), {
        "braid.events": events.length,
      }),
    scan: (partition, range, signal) => {
      const span = begin("scan", partition);
      const runs = store.scan(partition, range, signal);
      return span === undefined ? runs : tracedRuns(runs, span, ({ bytes }) => bytes);
    },
    ...(findTimeBucket !== undefined && {
      findTimeBucket: (series, buckets, signal) =>
        call("findTimeBucket", series, () => findTimeBucket.call(store, series, buckets, signal)),
    }),
    appendBlocks: (partition, blocks, level) =>
      call("appendBlocks", partition, () => store.appendBlocks(partition, blocks, level), {
        "braid.blocks": blocks.length,
      }),
    scanBlocks: (partition, range, signal) => {
      const span = begin("scanBlocks", partition);
      const fetches = store.scanBlocks(partition, range, signal);
      if (span === undefined) return fetches;
      return tracedRuns(fetches, span, (blocks) =>
        blocks.reduce((sum, { bytes }) => sum + bytes.byteLength, 0),
      );
    },
    walkPartitions: (slice, walk, signal) =>
      call("walkPartitions", slice, () => store.walkPartitions(slice, walk, signal)),
    ...(listIds !== undefined && {
      listIds: (slice, search, signal) =>
        call("listIds", slice, () => listIds.call(store, slice, search, signal)),
    }),
    sliceStats: (slice) => call("sliceStats", slice, () => store.sliceStats(slice)),
    isEmpty: (slice) => call("isEmpty", slice, () => store.isEmpty(slice)),
    close: () => store.close(),
  };
}

/** One span for a scan, however many fetches it takes. A scan that nobody begins has none. */
async function* tracedRuns<T>(
  fetches: AsyncIterable<T>,
  span: Span,
  bytesOf: (fetched: T) => number,
): AsyncGenerator<T, void, undefined> {
  let count = 0;
  let bytes = 0;
  let failure: string | undefined;
  try {
    for await (const fetched of fetches) {
      count++;
      bytes += bytesOf(fetched);
      yield fetched;
    }
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
    throw error;
  } finally {
    span.set({ "braid.fetches": count, "braid.bytes": bytes });
    span.end(failure);
  }
}

function tracedCatalog(catalog: Catalog, tracer: Tracer): Catalog {
  const call = <T>(operation: string, space: string, work: () => Promise<T>): Promise<T> => {
    const kind = space.split("/", 1)[0] ?? "";
    const values = { "db.operation.name": operation, "db.collection.name": kind };
    const span = tracer.child(`catalog ${operation} ${kind}`, "CLIENT", values);
    return span === undefined ? work() : endWith(span, work);
  };
  return {
    shared: catalog.shared,
    read: (space, key) => call("read", space, () => catalog.read(space, key)),
    list: (space, after, limit) => call("list", space, () => catalog.list(space, after, limit)),
    versions: (space, after, limit) =>
      call("versions", space, () => catalog.versions(space, after, limit)),
    write: (space, key, value, expected) =>
      call("write", space, () => catalog.write(space, key, value, expected)),
    remove: (space, key, expected) =>
      call("remove", space, () => catalog.remove(space, key, expected)),
  };
}
