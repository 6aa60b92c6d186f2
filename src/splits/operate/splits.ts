/**
 * The operators' use cases: list, request, retry and roll back splits.
 *
 * Every change goes through `moveSplit`, by compare-and-set, because workers may change the record
 * at the same time. A caller that loses reads again and decides again, a bounded number of times.
 * This process sees a change at once, the others within `viewMaxAge`.
 */
import { compareAndSet, LOST } from "../../lib/compare-and-set.ts";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { Problems } from "../../lib/problems.ts";
import { moveSplit, publishSplit } from "../record/move-split.ts";
import {
  readReadyNamespace,
  requireReady,
  updateNamespace,
} from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { readParts } from "../../records/part-records.ts";
import { readSlice } from "../../records/slice-records.ts";
import { findSplits } from "../../records/split-ids.ts";
import { readSplit } from "../../records/split-records.ts";
import { EVENT_BUCKETS_MAX, timeBucketRange } from "../../model/partition.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type {
  OperatorRequest,
  PausedNamespace,
  SplitDetail,
  SplitLocation,
  SplitPage,
  SplitRequest,
  SplitSummaryPage,
  SplitUseCases,
} from "../use-cases.ts";
import { newSplit } from "../../model/split-moves.ts";
import type { PartNumberRange, PartRecord, SplitRecord } from "../../model/split.ts";
import type { TimeSlice } from "../../model/time-slice.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { listNewest } from "./list-newest.ts";
import type { NewestOptions } from "./list-newest.ts";
import { listSplitPage } from "./list-splits.ts";
import type { UnreadableEntry } from "../../records/stored-json.ts";
import type { ListOptions } from "./list-splits.ts";
import { readSummaryPage } from "./summary-page.ts";
import type { SummaryPageRequest } from "./summary-page.ts";
import { requested, retried, rolledBack, whyOf } from "./operator-requests.ts";
import type { Decision, RequestContext } from "./operator-requests.ts";

export interface SplitsOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Called with a split that is due now, so that it does not wait for a sweeper. */
  readonly nudge?: (partition: PartitionKey) => void;
  /** Called with a split that has changed, so that this process follows the change at once. */
  readonly changed?: (partition: PartitionKey) => void | Promise<void>;
  /** Whether a partition holds any event; without it, every partition is assumed to. */
  readonly holdsEvents?: (partition: PartitionKey) => Promise<boolean>;
  /** Receives each record that a list leaves out because it cannot be decoded (rule C28). */
  readonly unreadable?: (entry: UnreadableEntry) => void;
  /** Refreshes this process's view of a namespace. */
  readonly namespaceChanged?: (name: string) => Promise<void>;
}

/** Records that a search by id reads: usually those of one shard of one slice. */
const SCANNED_MAX = 50_000;

export class Splits implements SplitUseCases {
  readonly #options: SplitsOptions;

  constructor(options: SplitsOptions) {
    this.#options = options;
  }

  list(namespace: string, options: ListOptions): Promise<SplitPage> {
    const { catalog, unreadable } = this.#options;
    return listSplitPage(catalog, namespace, {
      ...options,
      ...(unreadable && { skip: unreadable }),
    });
  }

  newest(namespace: string, options: NewestOptions): Promise<SplitPage> {
    const { catalog, unreadable: skip } = this.#options;
    return listNewest(catalog, namespace, { ...options, skip });
  }

  summary(namespace: string, page: SummaryPageRequest): Promise<SplitSummaryPage> {
    const { catalog, unreadable } = this.#options;
    return readSummaryPage(catalog, namespace, page, (entry) => unreadable?.(entry));
  }

  async get(location: SplitLocation): Promise<SplitDetail> {
    const { catalog } = this.#options;
    const { id } = await readReadyNamespace(catalog, location.namespace);
    return this.#detail(await this.#read(partitionOf(id, location)), location);
  }

  async locate(namespace: string, splitId: string): Promise<SplitLocation> {
    const { catalog } = this.#options;
    const { id } = await readReadyNamespace(catalog, namespace);
    const found = await findSplits(catalog, id, splitId, SCANNED_MAX);
    const [partition, ...others] = found.partitions;
    if (others.length > 0 || found.gaveUp) throw notFoundByIdAlone(splitId, found.partitions);
    if (partition === undefined) throw noSuchId(namespace, splitId);
    const { slice, seriesId, timeBucket, eventBucket } = partition;
    return { namespace, timeSlice: slice, seriesId, timeBucket, eventBucket };
  }

  async request(location: SplitLocation, operatorRequest: SplitRequest): Promise<SplitDetail> {
    const { catalog, clock, nudge, holdsEvents } = this.#options;
    const { force = false } = operatorRequest;
    const namespace = await readReadyNamespace(catalog, location.namespace);
    const bucket = timeBucketRange(await this.#sliceOf(namespace, location), location.timeBucket);
    const partition = partitionOf(namespace.id, location);
    const isNew = (await readSplit(catalog, partition)) === undefined;
    // A planner would only refuse the record of an empty partition, and every list would show it.
    if (isNew && !((await holdsEvents?.(partition)) ?? true)) throw nothingThere(partition);
    const record = await this.#change(partition, namespace, operatorRequest, (before, context) => {
      if (before !== undefined) return requested(before, context, bucket, force);
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
        ...(force && { forced: true }),
      };
      return newSplit(split, whyOf("requested", operatorRequest, at));
    });
    nudge?.(partition);
    return this.#detail(record, location);
  }

  async retry(location: SplitLocation, operatorRequest: OperatorRequest): Promise<SplitDetail> {
    const { catalog, nudge } = this.#options;
    const namespace = await readReadyNamespace(catalog, location.namespace);
    const partition = partitionOf(namespace.id, location);
    const record = await this.#change(partition, namespace, operatorRequest, (before, context) =>
      retried(before ?? notThere(partition), context),
    );
    nudge?.(partition);
    return this.#detail(record, location);
  }

  async rollback(location: SplitLocation, operatorRequest: OperatorRequest): Promise<SplitDetail> {
    const namespace = await readReadyNamespace(this.#options.catalog, location.namespace);
    const partition = partitionOf(namespace.id, location);
    const record = await this.#change(partition, namespace, operatorRequest, (before, context) =>
      rolledBack(before ?? notThere(partition), context),
    );
    return this.#detail(record, location);
  }

  async pause(
    name: string,
    { by, reason }: OperatorRequest,
  ): Promise<{ readonly pause: PausedNamespace; readonly wasPaused: boolean }> {
    const paused = { at: this.#options.clock.nowMicros(), by, reason };
    let first: typeof paused | null = null;
    await this.#changeNamespace(name, (current) => {
      first = current.splitsPaused;
      return first === null ? { ...current, splitsPaused: paused } : undefined;
    });
    return { pause: { namespace: name, ...(first ?? paused) }, wasPaused: first !== null };
  }

  async resume(name: string): Promise<boolean> {
    let wasPaused = false;
    await this.#changeNamespace(name, (current) => {
      wasPaused = current.splitsPaused !== null;
      return wasPaused ? { ...current, splitsPaused: null } : undefined;
    });
    return wasPaused;
  }

  async #changeNamespace(
    name: string,
    change: (current: NamespaceRecord) => NamespaceRecord | undefined,
  ): Promise<void> {
    const { catalog, namespaceChanged } = this.#options;
    await updateNamespace(catalog, name, (current) => change(requireReady(current, name)));
    await namespaceChanged?.(name);
  }

  /**
   * Reads, decides and writes until no other process interferes. It answers only when the route of
   * the record is published, even if there is nothing to change (rule C23).
   */
  async #change(
    partition: PartitionKey,
    namespace: NamespaceRecord,
    operatorRequest: OperatorRequest,
    decide: (before: SplitRecord | undefined, context: RequestContext) => Decision,
  ): Promise<SplitRecord> {
    const { catalog, clock, changed } = this.#options;
    const conflict = {
      message: "the split was changed by others at every attempt; look at it and try again",
      details: detailsOf(partition),
    };
    return compareAndSet(conflict, async () => {
      const before = await readSplit(catalog, partition);
      const after = decide(before, { operatorRequest, namespace, nowMicros: clock.nowMicros() });
      const record =
        after === undefined
          ? (before ?? notThere(partition))
          : await moveSplit(catalog, clock, before, after);
      if (record === undefined) return LOST;
      await publishSplit(catalog, clock, record);
      await changed?.(partition);
      return record;
    });
  }

  async #read(partition: PartitionKey): Promise<SplitRecord> {
    return (await readSplit(this.#options.catalog, partition)) ?? notThere(partition);
  }

  /** The record of a namespace that was restored may still have another name. */
  async #detail(stored: SplitRecord, { namespace }: SplitLocation): Promise<SplitDetail> {
    const record = { ...stored, namespace };
    const parts: (readonly PartRecord[])[] = [];
    for (const { partRanges } of record.segments)
      parts.push(await this.#partsOf(record, partRanges));
    const { namespaceId, slice, timeBucket } = record.partition;
    const timeSlice = await readSlice(this.#options.catalog, namespaceId, slice);
    return { record, parts, bucket: timeSlice && timeBucketRange(timeSlice, timeBucket) };
  }

  /**
   * Returns no parts if some are missing: the operator must still see the record, all the more
   * then.
   */
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

  /** The slice that an operator's request names, if it has such a partition. */
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
    const problems = new Problems();
    const isCount = Number.isSafeInteger(timeBucket) && timeBucket >= 0;
    if (!isCount || timeBucketRange(slice, timeBucket).start >= slice.end) {
      problems.add(
        `${slice.name} has no time bucket ${timeBucket}; its buckets of ${slice.timePartition.secondsPerTimeBucket} s are counted from 0`,
      );
    }
    if (!Number.isSafeInteger(eventBucket) || eventBucket < 0 || eventBucket >= EVENT_BUCKETS_MAX) {
      problems.add(`event bucket ${eventBucket} must be from 0 to ${EVENT_BUCKETS_MAX - 1}`);
    }
    problems.throwIfAny("REQUEST_INVALID");
    return slice;
  }
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

function nothingThere(partition: PartitionKey): ServiceError {
  const { slice, seriesId, timeBucket, eventBucket } = partition;
  const where = `time bucket ${timeBucket}, event bucket ${eventBucket} of ${slice}`;
  return new ServiceError(
    "PARTITION_NOT_FOUND",
    `${JSON.stringify(seriesId)} has no events in ${where}; ExplainRead shows the partitions of an id`,
    { details: detailsOf(partition) },
  );
}

function noSuchId(namespace: string, splitId: string): ServiceError {
  return new ServiceError(
    "SPLIT_NOT_FOUND",
    `namespace "${namespace}" has no split ${splitId}; list those there are`,
    { details: { namespace, splitId } },
  );
}

function notFoundByIdAlone(splitId: string, partitions: readonly PartitionKey[]): ServiceError {
  const why =
    partitions.length > 1
      ? `splitId ${splitId} is ambiguous: ${partitions.length} splits have it`
      : `splitId ${splitId} was not found among ${SCANNED_MAX} records, and there are more`;
  return new ServiceError("REQUEST_INVALID", `${why}; give the partition instead`, {
    details: { splitId },
  });
}

function detailsOf({ slice, seriesId, timeBucket, eventBucket }: PartitionKey) {
  return { timeSlice: slice, timeSeriesId: seriesId, timeBucket, eventBucket };
}
