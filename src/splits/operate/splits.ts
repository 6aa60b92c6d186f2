/**
 * What operators do with splits: look at them, ask for them, let them go on, take them back.
 *
 * Every change goes through `moveSplit`, by compare-and-set, against workers that are at it: who is
 * overtaken reads again and decides again, a bounded number of times. This process knows of a change at
 * once, the others within L.
 */
import { fromUtf8, utf8 } from "../../lib/bytes.ts";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { moveSplit } from "../record/move-split.ts";
import {
  readReadyNamespace,
  requireReady,
  updateNamespace,
} from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { readParts } from "../../records/part-records.ts";
import { readSlice } from "../../records/slice-records.ts";
import { listSplitsPage, readSplit, slicesWithSplits } from "../../records/split-records.ts";
import { EVENT_BUCKETS_MAX, timeBucketRange } from "../../model/partition.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type {
  SplitDetail,
  SplitPage,
  SplitLocation,
  SplitUseCases,
  OperatorRequest,
} from "../use-cases.ts";
import { newSplit } from "../../model/split-moves.ts";
import type { PartRecord, PartNumberRange, SplitRecord, SplitState } from "../../model/split.ts";
import type { TimeSlice } from "../../model/time-slice.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { reasonOf, requested, retried, rolledBack } from "./operator-requests.ts";
import type { Decision, RequestContext } from "./operator-requests.ts";

export interface SplitsOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Told of a split that is due now, so that it need not wait for a sweeper. */
  readonly nudge?: (partition: PartitionKey) => void;
  /** Told of a split that has changed, so that this process follows it at once. */
  readonly changed?: (partition: PartitionKey) => void | Promise<void>;
  /** Brings this process's view of a namespace up to date. */
  readonly namespaceChanged?: (name: string) => Promise<void>;
}

/** Whoever works on a split writes its record a few times a second at most. */
const ATTEMPTS_MAX = 20;
/** Records looked at for one page: where few have the state that is asked for, the page is short. */
const SCANNED_MAX = 5_000;
/** Asked for at a time where only some of them are wanted. */
const SCANNED_PAGE = 500;
const PAGE_SIZE_DEFAULT = 100;

export class Splits implements SplitUseCases {
  readonly #options: SplitsOptions;

  constructor(options: SplitsOptions) {
    this.#options = options;
  }

  /** By slice. A page may be short or empty and still have a token: the end is the empty one. */
  async list(
    namespace: string,
    options: {
      readonly state: SplitState | undefined;
      readonly pageSize: number;
      readonly pageToken: string;
    },
  ): Promise<SplitPage> {
    const { catalog } = this.#options;
    const size = options.pageSize > 0 ? options.pageSize : PAGE_SIZE_DEFAULT;
    const after = readToken(options.pageToken);
    const { id } = await readReadyNamespace(catalog, namespace);
    const splits: SplitDetail[] = [];
    let scanned = 0;
    const withSplits = await slicesWithSplits(catalog, id);
    for (const name of [...withSplits].toSorted(byText)) {
      if (name < after.slice) continue;
      let cursor = name === after.slice ? after.cursor : "";
      do {
        if (splits.length === size || scanned >= SCANNED_MAX) {
          return { splits, nextPageToken: tokenOf(name, cursor) };
        }
        const ref = { namespaceId: id, slice: name };
        const limit = options.state === undefined ? size - splits.length : SCANNED_PAGE;
        const page = await listSplitsPage(catalog, ref, cursor, limit);
        scanned += page.records.length;
        const full = take(page.records, options.state, size, splits);
        // Only as far as it was used, and the place behind that.
        const used = full === undefined ? page : await listSplitsPage(catalog, ref, cursor, full);
        ({ cursor } = used);
      } while (cursor !== "");
    }
    return { splits, nextPageToken: "" };
  }

  async get(location: SplitLocation): Promise<SplitDetail> {
    const { catalog } = this.#options;
    const { id } = await readReadyNamespace(catalog, location.namespace);
    return this.#detail(await this.#read(partitionOf(id, location)));
  }

  async request(location: SplitLocation, operatorRequest: OperatorRequest): Promise<SplitDetail> {
    const { catalog, clock, nudge } = this.#options;
    const namespace = await readReadyNamespace(catalog, location.namespace);
    const bucket = timeBucketRange(await this.#sliceOf(namespace, location), location.timeBucket);
    const partition = partitionOf(namespace.id, location);
    const record = await this.#change(partition, namespace, operatorRequest, (before, context) => {
      if (before !== undefined) return requested(before, context, bucket);
      const at = clock.nowMicros();
      const split = {
        partition,
        namespace: location.namespace,
        epoch: namespace.epoch,
        bytes: 0,
        events: 0,
        immutable: bucket.end <= namespace.floor,
        detectedAt: at,
        askedBy: operatorRequest.by,
      };
      return newSplit(split, {
        at,
        by: operatorRequest.by,
        reason: reasonOf("requested", operatorRequest),
      });
    });
    nudge?.(partition);
    return this.#detail(record);
  }

  async retry(location: SplitLocation, operatorRequest: OperatorRequest): Promise<SplitDetail> {
    const { catalog, nudge } = this.#options;
    const namespace = await readReadyNamespace(catalog, location.namespace);
    const partition = partitionOf(namespace.id, location);
    const record = await this.#change(partition, namespace, operatorRequest, (before, context) =>
      retried(before ?? notThere(partition), context),
    );
    nudge?.(partition);
    return this.#detail(record);
  }

  async rollback(location: SplitLocation, operatorRequest: OperatorRequest): Promise<SplitDetail> {
    const namespace = await readReadyNamespace(this.#options.catalog, location.namespace);
    const partition = partitionOf(namespace.id, location);
    const record = await this.#change(partition, namespace, operatorRequest, (before, context) =>
      rolledBack(before ?? notThere(partition), context),
    );
    return this.#detail(record);
  }

  /** One that is paused already stays so for its first reason. */
  async pause(namespace: string, operatorRequest: OperatorRequest): Promise<void> {
    const at = this.#options.clock.nowMicros();
    await this.#changeNamespace(namespace, (current) =>
      current.splitsPaused === null
        ? { ...current, splitsPaused: { at, ...operatorRequest } }
        : undefined,
    );
  }

  async resume(namespace: string): Promise<void> {
    await this.#changeNamespace(namespace, (current) =>
      current.splitsPaused === null ? undefined : { ...current, splitsPaused: null },
    );
  }

  async #changeNamespace(
    name: string,
    change: (current: NamespaceRecord) => NamespaceRecord | undefined,
  ): Promise<void> {
    const { catalog, namespaceChanged } = this.#options;
    await updateNamespace(catalog, name, (current) => change(requireReady(current, name)));
    await namespaceChanged?.(name);
  }

  /** Reads, decides and writes until nobody came between. */
  async #change(
    partition: PartitionKey,
    { epoch }: NamespaceRecord,
    operatorRequest: OperatorRequest,
    decide: (before: SplitRecord | undefined, context: RequestContext) => Decision,
  ): Promise<SplitRecord> {
    const { catalog, clock, changed } = this.#options;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const before = await readSplit(catalog, partition);
      const after = decide(before, { operatorRequest, epoch, nowMicros: clock.nowMicros() });
      if (after === undefined) return before ?? notThere(partition);
      const moved = await moveSplit(catalog, clock, before, after);
      if (moved === undefined) continue;
      await changed?.(partition);
      return moved;
    }
    throw new ServiceError(
      "CONFLICT",
      "the split was changed by others at every attempt; look at it and try again",
      { details: detailsOf(partition), retryAfterMs: 1_000 },
    );
  }

  async #read(partition: PartitionKey): Promise<SplitRecord> {
    return (await readSplit(this.#options.catalog, partition)) ?? notThere(partition);
  }

  async #detail(record: SplitRecord): Promise<SplitDetail> {
    const parts: (readonly PartRecord[])[] = [];
    for (const { partRanges } of record.segments)
      parts.push(await this.#partsOf(record, partRanges));
    return { record, parts };
  }

  /** None where they are not all there: the record must be seen all the more then. */
  async #partsOf(
    { partition }: SplitRecord,
    partRanges: readonly PartNumberRange[],
  ): Promise<readonly PartRecord[]> {
    try {
      return await readParts(this.#options.catalog, partition, partRanges);
    } catch (error) {
      if (error instanceof ServiceError && error.code === "DATA_LOSS") return [];
      throw error;
    }
  }

  /** The slice a wish is about, if it has such a partition. */
  async #sliceOf(namespace: NamespaceRecord, location: SplitLocation): Promise<TimeSlice> {
    const slice = await readSlice(this.#options.catalog, namespace.id, location.timeSlice);
    if (slice?.state !== "OPEN") {
      throw new ServiceError(
        "TIME_SLICE_NOT_FOUND",
        `namespace "${namespace.name}" has no open time slice ${JSON.stringify(location.timeSlice.slice(0, 60))}; list those there are`,
        { details: { namespace: namespace.name, timeSlice: location.timeSlice.slice(0, 60) } },
      );
    }
    const { timeBucket, eventBucket } = location;
    const isCount = Number.isSafeInteger(timeBucket) && timeBucket >= 0;
    if (!isCount || timeBucketRange(slice, timeBucket).start >= slice.end) {
      throw new ServiceError(
        "REQUEST_INVALID",
        `${slice.name} has no time bucket ${timeBucket}; its buckets of ${slice.timePartition.secondsPerTimeBucket} s are counted from 0`,
      );
    }
    if (!Number.isSafeInteger(eventBucket) || eventBucket < 0 || eventBucket >= EVENT_BUCKETS_MAX) {
      throw new ServiceError(
        "REQUEST_INVALID",
        `event bucket ${eventBucket} must be from 0 to ${EVENT_BUCKETS_MAX - 1}`,
      );
    }
    return slice;
  }
}

/** Takes those that are wanted; gives how many records it has looked at if there was no room for all. */
function take(
  records: readonly SplitRecord[],
  state: SplitState | undefined,
  size: number,
  splits: SplitDetail[],
): number | undefined {
  for (const [nth, record] of records.entries()) {
    if (state !== undefined && record.state !== state) continue;
    splits.push({ record, parts: [] });
    if (splits.length === size && nth + 1 < records.length) return nth + 1;
  }
  return undefined;
}

/** Names of slices are plain, so this is the order of their bytes, which is that of time. */
function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}

function partitionOf(namespaceId: string, location: SplitLocation): PartitionKey {
  const { timeSlice, seriesId, timeBucket, eventBucket } = location;
  return { namespaceId, slice: timeSlice, seriesId, timeBucket, eventBucket };
}

function notThere(partition: PartitionKey): never {
  throw new ServiceError(
    "SPLIT_NOT_FOUND",
    "there is no split of this partition; list those there are, or request one",
    { details: detailsOf(partition) },
  );
}

function detailsOf({ slice, seriesId, timeBucket, eventBucket }: PartitionKey) {
  return { timeSlice: slice, timeSeriesId: seriesId, timeBucket, eventBucket };
}

/** Slices have no bar in their names; what is behind the bar is the cursor of the records. */
function tokenOf(slice: string, cursor: string): string {
  return Buffer.from(utf8(`${slice}|${cursor}`)).toString("base64url");
}

function readToken(token: string): { readonly slice: string; readonly cursor: string } {
  if (token === "") return { slice: "", cursor: "" };
  try {
    const text = fromUtf8(Buffer.from(token, "base64url"));
    const bar = text.indexOf("|");
    const [slice, cursor] = [text.slice(0, bar), text.slice(bar + 1)];
    if (/^data_[0-9_]+$/.test(slice) && tokenOf(slice, cursor) === token) return { slice, cursor };
  } catch {
    // Not UTF-8: not a token of ours, as below.
  }
  throw new ServiceError(
    "PAGE_TOKEN_INVALID",
    "pageToken is not one this server gave out; begin again without it",
  );
}
