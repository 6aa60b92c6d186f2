/**
 * The messages of the API in proto3 JSON. Generated from proto/ by scripts/generate.ts: do not edit.
 *
 * 64-bit numbers are decimal text, times RFC 3339 text, durations text such as "600s", bytes base64.
 */

/** What a request may leave out: everything. What is left out keeps its value, or its default. */
export type Given<T> = T extends readonly (infer E)[]
  ? readonly Given<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: Given<T[K]> | undefined }
    : T;

/** Manages namespaces, their time slices, blocked ids and the splits of wide partitions. */
export interface ControlServiceMethods {
  /** Creates a namespace. Events can be written as soon as this returns. */
  readonly CreateNamespace: { request: CreateNamespaceRequest; answer: Namespace };
  /**
   * Chooses the partitioning and the machines for a workload by simulation. Creates nothing. The same
   * request has the same answer.
   */
  readonly PlanNamespace: { request: PlanNamespaceRequest; answer: PlanNamespaceResponse };
  /** Returns one namespace with its whole configuration. */
  readonly GetNamespace: { request: GetNamespaceRequest; answer: Namespace };
  /** Lists all namespaces by name, page by page. */
  readonly ListNamespaces: { request: ListNamespacesRequest; answer: ListNamespacesResponse };
  /**
   * Changes the fields that are given and keeps the rest. A new strategy applies to slices that do
   * not exist yet.
   */
  readonly UpdateNamespace: { request: UpdateNamespaceRequest; answer: Namespace };
  /**
   * Deletes a namespace. Its name is free at once; its events stay for drop_grace, and UndeleteNamespace
   * restores it until then. With purge, or if it holds no event, its events are removed at once.
   */
  readonly DeleteNamespace: { request: DeleteNamespaceRequest; answer: DeletedNamespace };
  /** Restores a deleted namespace with its events, splits and blocked ids. Page tokens of its reads stay valid. */
  readonly UndeleteNamespace: { request: UndeleteNamespaceRequest; answer: Namespace };
  /** Lists the deleted namespaces that still take up space, in the order of their ids, page by page. */
  readonly ListDeletedNamespaces: { request: ListDeletedNamespacesRequest; answer: ListDeletedNamespacesResponse };
  /** Lists the time slices of a namespace by start, with their sizes. */
  readonly ListTimeSlices: { request: ListTimeSlicesRequest; answer: ListTimeSlicesResponse };
  /**
   * Takes back a slice that is DROPPING. Retention leaves it alone for one more grace; a longer
   * deleteAfter keeps it.
   */
  readonly UndropTimeSlice: { request: UndropTimeSliceRequest; answer: TimeSlice };
  /** Drops a slice that is DROPPING now, without the rest of its grace. This cannot be undone. */
  readonly PurgeTimeSlice: { request: PurgeTimeSliceRequest; answer: TimeSlice };
  /** Blocks ids: reads and writes of them fail until the block expires or is removed. */
  readonly BlockIds: { request: BlockIdsRequest; answer: BlockIdsResponse };
  /** Removes the blocks of ids, so that they can be read and written again. */
  readonly UnblockIds: { request: UnblockIdsRequest; answer: UnblockIdsResponse };
  /** Lists the ids that are blocked now, including those of the configuration file. */
  readonly ListBlockedIds: { request: ListBlockedIdsRequest; answer: ListBlockedIdsResponse };
  /**
   * Returns how large the partitions of a slice are, from the best available source, and what the
   * other sources report.
   */
  readonly GetHistogram: { request: GetHistogramRequest; answer: GetHistogramResponse };
  /**
   * Lists what the tuner observed, proposed and changed in a namespace, and what it would propose
   * now.
   */
  readonly ListTunings: { request: ListTuningsRequest; answer: ListTuningsResponse };
  /** Accepts or refuses a proposal. An accepted one applies to slices that do not exist yet. */
  readonly DecideTuning: { request: DecideTuningRequest; answer: Tuning };
  /**
   * Lists the largest partitions of a slice, as the last walk over the slice found them, with what
   * reads have detected since.
   */
  readonly ListPartitions: { request: ListPartitionsRequest; answer: ListPartitionsResponse };
  /**
   * Returns the partitions of a slice as a grid, time across and size or id down, as the last walk
   * over the slice found them, with today's splits marked.
   */
  readonly GetWidthMap: { request: GetWidthMapRequest; answer: WidthMap };
  /**
   * Lists the ids of a namespace's newest slices that begin with a prefix, page by page. NOT_SUPPORTED
   * on Cassandra, which stores ids by their hash.
   */
  readonly ListIds: { request: ListIdsRequest; answer: ListIdsResponse };
  /** Looks at a namespace's sizes, splits and tunings and names a remedy for each problem. */
  readonly GetRemedies: { request: GetRemediesRequest; answer: GetRemediesResponse };
  /** Lists the splits of one namespace or of all, page by page, without their parts. */
  readonly ListSplits: { request: ListSplitsRequest; answer: ListSplitsResponse };
  /**
   * Returns numbers of splits by state, sizes before and after, and the space of the copies: of each
   * namespace and of all together, as one process counts them once a minute.
   */
  readonly GetSplitSummary: { request: GetSplitSummaryRequest; answer: GetSplitSummaryResponse };
  /** Returns one split with its parts, its sizes and latencies before and after, and its history. */
  readonly GetSplit: { request: GetSplitRequest; answer: Split };
  /** Requests a split, as a detection does. If the split exists, a worker checks it again. */
  readonly RequestSplit: { request: RequestSplitRequest; answer: Split };
  /** Has a split planned again after it failed or was refused, parked or rolled back. */
  readonly RetrySplit: { request: RetrySplitRequest; answer: Split };
  /** Makes every server read the original within BRAID_VIEW_MAX_AGE, until RetrySplit. */
  readonly RollbackSplit: { request: RollbackSplitRequest; answer: Split };
  /** Stops all work on the splits of a namespace. Completed splits stay in use. */
  readonly PauseSplits: { request: PauseSplitsRequest; answer: PauseSplitsResponse };
  /** Resumes the work on the splits of a namespace. */
  readonly ResumeSplits: { request: ResumeSplitsRequest; answer: ResumeSplitsResponse };
  /** Returns what waits in the queue of detections. */
  readonly GetQueue: { request: GetQueueRequest; answer: QueueStatus };
  /** Lists the detections that no worker could decode, page by page. */
  readonly ListDeadDetections: { request: ListDeadDetectionsRequest; answer: ListDeadDetectionsResponse };
  /** Puts dead detections into the queue again, unchanged. */
  readonly ReplayDeadDetections: { request: ReplayDeadDetectionsRequest; answer: DeadDetectionsAnswer };
  /** Drops dead detections for good. The next read of a wide partition makes a new detection. */
  readonly DropDeadDetections: { request: DropDeadDetectionsRequest; answer: DeadDetectionsAnswer };
  /** Starts a comparison of splits with their originals, event by event, and returns at once. */
  readonly StartVerify: { request: StartVerifyRequest; answer: StartVerifyResponse };
  /** Returns the progress of a comparison and the differences found so far. */
  readonly GetVerify: { request: GetVerifyRequest; answer: Verification };
  /**
   * Returns how far the reads of a namespace trust its splits, the evidence for it, and what blocks
   * the next mode.
   */
  readonly GetReadMode: { request: GetReadModeRequest; answer: ReadMode };
  /** Sets the read mode. Without force, only if the evidence allows it. */
  readonly SetReadMode: { request: SetReadModeRequest; answer: ReadMode };
  /** Returns whether the kill switch turns all splits off. */
  readonly GetKillSwitch: { request: GetKillSwitchRequest; answer: KillSwitch };
  /**
   * Turns all splits of all namespaces off, or on again, on every server within BRAID_VIEW_MAX_AGE.
   * If the switch is already set so, nothing changes, and the answer says who set it first, when
   * and why.
   */
  readonly SetKillSwitch: { request: SetKillSwitchRequest; answer: KillSwitch };
  /**
   * Returns the status of the server that answers: its version and engine, what is switched off or
   * paused, and the number of splits.
   */
  readonly GetStatus: { request: GetStatusRequest; answer: ServerStatus };
  /** Lists the servers and workers of the installation, as each announced itself last. */
  readonly ListServers: { request: ListServersRequest; answer: ListServersResponse };
  /**
   * Returns what the server that answers has kept of its own figures: the last 10 minutes second by
   * second, or the last 24 hours minute by minute. Nothing is kept over a restart, and each server
   * knows only what it did itself.
   */
  readonly GetMetricsHistory: { request: GetMetricsHistoryRequest; answer: MetricsHistory };
  /**
   * Sends what is there and then every change, until the caller leaves. Changes that this server makes
   * arrive at once, those of other processes within BRAID_VIEW_MAX_AGE. At most two messages a second
   * for each topic: what changes more often is sent as it is then. After a break, a call with the cursor
   * of the last message gets only what has changed since, or all of it if that is not known any more.
   * A server has a limited number of watchers (server.watchers); further calls fail with OVERLOADED.
   */
  readonly Watch: { request: WatchRequest; answer: WatchResponse };
  /** Lists the Bloom filters of the server that answers, by namespace and slice, page by page. */
  readonly ListFilters: { request: ListFiltersRequest; answer: ListFiltersResponse };
  /** An operator says that the clock of this server's machine is right: its time is believed from now on. */
  readonly ConfirmClock: { request: ConfirmClockRequest; answer: ClockStatus };
}

export interface Namespace {
  readonly namespace: string;
  /** Unique to each creation: a namespace created again under an old name has a new id. */
  readonly id: string;
  readonly config: NamespaceConfig;
  /** Raised by every change that reopens sealed time. */
  readonly epoch: string;
  readonly createTime: string;
  /** Raised by every change. */
  readonly version: string;
  /** How far reads trust splits; GetReadMode returns more. */
  readonly readMode: ReadModeMode;
  /** Whether work on splits is paused. */
  readonly splitsPaused: boolean;
  /** Since when, by whom and why. Not given unless paused. */
  readonly splitsPause?: SplitsPause;
  /** The tuning that waits for DecideTuning, if there is one. In GetNamespace alone. */
  readonly waitingTuning?: string;
  /** The fields of config that have their default value, such as slos.read.max. In GetNamespace alone. */
  readonly defaultFields: readonly string[];
  /** If it was created from a workload: what was expected then, and why. */
  readonly provisioned?: ProvisionedPlan;
}

export interface CreateNamespaceRequest {
  readonly namespace?: string;
  readonly config?: Given<NamespaceConfig>;
  /**
   * Instead of config.time_partition: PlanNamespace chooses it. Other fields of config override
   * those of the workload.
   */
  readonly workload?: Given<Workload>;
}

export interface GetNamespaceRequest {
  readonly namespace?: string;
}

export interface ListNamespacesRequest {
  /** At most 1,000. Default: 100. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface ListNamespacesResponse {
  readonly namespaces: readonly Namespace[];
  readonly nextPageToken: string;
}

export interface UpdateNamespaceRequest {
  readonly namespace?: string;
  /** Only the fields to change; they are merged field by field. */
  readonly config?: Given<NamespaceConfig>;
  /** Fields to return to their default, for example "slos.read". */
  readonly reset?: readonly string[];
}

export interface DeleteNamespaceRequest {
  /** The namespace that has the name now. With purge too, a deleted one is named by its id alone. */
  readonly namespace?: string;
  /** Removes the events now: this cannot be undone. */
  readonly purge?: boolean;
  /** Instead of namespace, with purge: the id of a deleted namespace. */
  readonly id?: string;
  /** At most 1,024 characters. */
  readonly reason?: string;
}

/** A deleted namespace. */
export interface DeletedNamespace {
  readonly namespace: string;
  readonly id: string;
  readonly config: NamespaceConfig;
  readonly deleteTime: string;
  /**
   * Until when UndeleteNamespace restores it. Not given if it is purged, or while the clock is in doubt: its
   * grace begins when the doubt is over.
   */
  readonly restorableUntil?: string;
  /** Its events are removed, or are being removed: nothing restores it. */
  readonly purged: boolean;
  readonly deletedBy: string;
  readonly reason: string;
  /** Approximate size when it was deleted. Not given if that is not known. */
  readonly bytes?: string;
  readonly events?: string;
}

export interface UndeleteNamespaceRequest {
  /** The name it had; enough if exactly one deleted namespace had it. */
  readonly namespace?: string;
  /** Instead of namespace: its id. */
  readonly id?: string;
  /** Another name, for example if the old one is taken. Default: the name it had. */
  readonly asName?: string;
}

export interface ListDeletedNamespacesRequest {
  /** At most 1,000. Default: 100. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface ListDeletedNamespacesResponse {
  readonly namespaces: readonly DeletedNamespace[];
  readonly nextPageToken: string;
}

export interface ListTimeSlicesRequest {
  readonly namespace?: string;
}

export interface ListTimeSlicesResponse {
  readonly slices: readonly TimeSlice[];
}

export interface TimeSlice {
  readonly name: string;
  readonly start: string;
  readonly end: string;
  readonly status: TimeSliceStatus;
  readonly timePartition: TimePartition;
  /** Approximate size on disk. */
  readonly bytes: string;
  /** Events written, including repeats. */
  readonly events: string;
  /** Of a DROPPING slice: when it is dropped for good. */
  readonly dropTime?: string;
}

export type TimeSliceStatus =
  /** Starts in the future. */
  | "UPCOMING"
  /** Accepts events. */
  | "ACTIVE"
  /** Can no longer change. */
  | "SEALED"
  /** Neither read nor written; can be reopened. */
  | "CLOSED"
  /** Permanently deleted. */
  | "DROPPED"
  /** Past its retention: neither read nor written. UndropTimeSlice takes it back until drop_time. */
  | "DROPPING";

export interface UndropTimeSliceRequest {
  readonly namespace?: string;
  readonly timeSlice?: string;
}

export interface PurgeTimeSliceRequest {
  readonly namespace?: string;
  readonly timeSlice?: string;
}

export interface BlockedId {
  readonly timeSeriesId: string;
  readonly reason: string;
  /** When the block expires; never if not given. */
  readonly expireTime?: string;
  /** Set by the server. */
  readonly blockTime: string;
  /** Set by the server. */
  readonly source: BlockedIdSource;
}

export type BlockedIdSource =
  /** Blocked through this API. */
  | "API"
  /** Blocked by the configuration file; only a change of that file unblocks it. */
  | "CONFIG";

export interface BlockIdsRequest {
  readonly namespace?: string;
  readonly ids?: readonly Given<BlockedId>[];
}

export interface BlockIdsResponse {
  readonly ids: readonly BlockedId[];
}

export interface UnblockIdsRequest {
  readonly namespace?: string;
  readonly timeSeriesIds?: readonly string[];
}

export interface UnblockIdsResponse {
  /** How many of these ids were blocked through this API and are not any more. */
  readonly unblocked: number;
}

export interface ListBlockedIdsRequest {
  readonly namespace?: string;
  /** At most 1,000. Default: 100. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface ListBlockedIdsResponse {
  readonly ids: readonly BlockedId[];
  readonly nextPageToken: string;
}

export interface GetHistogramRequest {
  readonly namespace?: string;
  /** Default: the slice that accepts events now. */
  readonly timeSlice?: string;
  /** Whether to return the histograms of all slices, dropped ones too. */
  readonly history?: boolean;
}

/** How sizes in bytes, or numbers of events, are distributed. */
export interface Distribution {
  readonly count: string;
  /** The sum of all. */
  readonly total: string;
  /** 0 if the source does not know, like the percentiles. */
  readonly min: string;
  readonly p50: string;
  readonly p75: string;
  readonly p95: string;
  readonly p98: string;
  readonly p99: string;
  readonly max: string;
  /** Only those that hold anything. */
  readonly buckets: readonly DistributionBucket[];
}

export interface DistributionBucket {
  /** The upper limit: these are larger than the previous bucket's limit and at most this. */
  readonly upTo: string;
  readonly count: string;
}

/** The splits of one namespace, or of all. */
export interface SplitSummary {
  /** Empty in the total. */
  readonly namespace: string;
  /** Every state once. */
  readonly states: readonly ServerStatusSplitCount[];
  /** Bytes of each partition that is split, as far as it is. */
  readonly before: Distribution;
  /** Bytes of each of their parts. */
  readonly after: Distribution;
  /** Parts whose size is the mean of their segment: copies of an earlier version keep no sizes. */
  readonly partsEstimated: string;
  /** Bytes of events that reads may take from splits. */
  readonly divertedBytes: string;
  /** Approximate space of the split tables, which comes on top of the originals. */
  readonly storageBytes: string;
  /** Records and slices that could not be read, and that all of this leaves out. */
  readonly unreadable: string;
}

export interface GetSplitSummaryResponse {
  /** Of all namespaces together. Not given before the first count. */
  readonly total: SplitSummary;
  readonly namespaces: readonly SplitSummary[];
  /** Empty after the last page. */
  readonly nextPageToken: string;
  /** When the splits were counted. Not given before the first count. */
  readonly countTime?: string;
}

/**
 * What the last walk over a slice found; before the first one, what the storage itself said when the
 * slice was settled.
 */
export interface SliceHistogram {
  readonly timeSlice: string;
  readonly start: string;
  readonly end: string;
  /** The partitioning of the slice. */
  readonly timePartition: TimePartition;
  /** When the walk began, or the storage was asked. */
  readonly asOf: string;
  readonly source: SizeReportSource;
  /** The slice took no events any more: its sizes are final. */
  readonly sealed: boolean;
  /** False if the walk reached its time limit before the end of the slice, and without a walk. */
  readonly complete: boolean;
  /** What the numbers leave out. Empty if nothing. */
  readonly excludes: readonly string[];
  /** Of partitions, in bytes of events. */
  readonly bytes: Distribution;
  /** Of partitions. Only of a walk, like the next. */
  readonly events: Distribution;
  /** Of each id and time bucket, all event buckets together, in bytes of events. */
  readonly timeBucketBytes: Distribution;
}

export interface GetHistogramResponse {
  /** Approximate number of partitions. */
  readonly count: string;
  /** From the smallest to the largest bucket that has partitions. Empty if the source does not know. */
  readonly buckets: readonly GetHistogramResponseBucket[];
  /** In bytes, like the sizes below. Not given if the source does not know. */
  readonly p50?: string;
  readonly p99?: string;
  readonly max: string;
  readonly source: SizeReportSource;
  readonly timeSlice: string;
  readonly mean: string;
  /** When the source was read. */
  readonly asOf: string;
  /** How much of the whole the source has seen. */
  readonly coverage: string;
  readonly tells: string;
  readonly doesNotTell: string;
  /** What the other sources report, or why they report nothing. */
  readonly alternatives: readonly SizeReport[];
  /** In bytes. Not given if the source does not know. */
  readonly min?: string;
  readonly p75?: string;
  readonly p95?: string;
  readonly p98?: string;
  /**
   * What the last walk over the slice found, with events per partition. Not given before the first
   * walk.
   */
  readonly walk?: SliceHistogram;
  /** What the numbers of the answer leave out, if a walk is their source. */
  readonly excludes: readonly string[];
  /** Events per partition, of the walk. */
  readonly events?: Distribution;
  /** The size that a partition should have: the namespace's tuning. */
  readonly densityMinBytes: string;
  readonly densityMaxBytes: string;
  /** If asked for: what is stored of each slice, oldest first, without buckets. */
  readonly history: readonly SliceHistogram[];
}

export interface GetHistogramResponseBucket {
  /**
   * The upper limit: these partitions are larger than the previous bucket's limit and at most
   * this size.
   */
  readonly upToBytes: string;
  readonly partitions: string;
}

export interface ListPartitionsRequest {
  readonly namespace?: string;
  /** Default: the slice that accepts events now. */
  readonly timeSlice?: string;
  /** Default: BYTES. */
  readonly orderBy?: ListPartitionsRequestOrderBy;
  /** Default: 100; at most 1,000. */
  readonly pageSize?: number;
  readonly pageToken?: string;
  /** Only partitions of these time buckets, counted from the slice's start, both included. */
  readonly timeBucketMin?: number;
  readonly timeBucketMax?: number;
  /** Only partitions of these sizes, both included. */
  readonly bytesMin?: string;
  readonly bytesMax?: string;
  /** Only partitions of this id. */
  readonly timeSeriesId?: string;
  /** Only ids whose hash lies in these rows of a width map: from 0 to 1, the end excluded. */
  readonly hashFrom?: number;
  readonly hashTo?: number;
}

export type ListPartitionsRequestOrderBy =
  | "BYTES"
  | "EVENTS";

export interface ListPartitionsResponse {
  readonly partitions: readonly SizedPartition[];
  /**
   * When the walk began. Not given if the slice was not walked yet: then only partitions that reads
   * have detected are listed.
   */
  readonly asOf?: string;
  /** Whether the walk reached the end of the slice. */
  readonly complete: boolean;
  readonly nextPageToken: string;
  readonly timeSlice: string;
  /** Of the whole slice, as the walk found it. */
  readonly totalBytes: string;
  readonly totalEvents: string;
  /** How many partitions are known by name, and how many of them the request wants. */
  readonly known: number;
  readonly matching: number;
  /** Which partitions of the slice are known by name; others are not listed, whatever is asked. */
  readonly coverage: string;
}

export interface SizedPartition {
  readonly timeSeriesId: string;
  readonly timeBucket: number;
  readonly eventBucket: number;
  /** Bytes of events. */
  readonly bytes: string;
  readonly events: string;
  /** The partition's share of the slice, in the order's unit: from 0 to 1. */
  readonly share: number;
  /** False: an estimate, or what a read has seen so far, which is a lower bound. */
  readonly exact: boolean;
  /** How a server with a proven split reads it now. */
  readonly route: ExplainedPartitionRoute;
  /** Not given if there is no split of the partition. */
  readonly splitState?: SplitState;
  /** Of its split, if there is one. */
  readonly splitId: string;
}

export interface SizeReport {
  readonly source: SizeReportSource;
  /** Why this source could not be read. If set, nothing below is given. */
  readonly reason: string;
  readonly count: string;
  readonly p50?: string;
  readonly p99?: string;
  readonly max: string;
  readonly mean: string;
  readonly coverage: string;
  readonly tells: string;
  readonly doesNotTell: string;
}

export type SizeReportSource =
  /** A walk over all partitions: bytes of events. */
  | "WALK"
  /** What the server that answers has read: bytes of events. */
  | "READS"
  /** Cassandra's own estimates, over CQL. */
  | "TABLE_ESTIMATES"
  /** Cassandra's histogram of its data files, through Jolokia. */
  | "JMX";

export interface WatchRequest {
  /** At least one. */
  readonly topics?: readonly WatchRequestTopic[];
  /** Default: all namespaces, where the topic allows it. */
  readonly namespace?: string;
  /**
   * The cursor of the last message, to resume. One of another server, or of too long ago, begins
   * with everything again.
   */
  readonly cursor?: string;
  /** With VERIFY: the comparison. */
  readonly verifyId?: string;
  /** With METRICS: names of series, or beginnings of names that end with a dot. Default: all. */
  readonly series?: readonly string[];
}

export type WatchRequestTopic =
  /** What GetStatus returns. Times and ages that change by themselves are no changes. */
  | "STATUS"
  /** New samples of what GetMetricsHistory returns by the second, beginning with the last minute. */
  | "METRICS"
  /** What ListNamespaces returns, at most 1,000; with a namespace, only that one. */
  | "NAMESPACES"
  /** What ListSplits returns, at most 500 of the first 2,000: those in progress, and the last changed. */
  | "SPLITS"
  /** What ListTimeSlices returns. Needs a namespace. */
  | "SLICES"
  /** The stored tunings of ListTunings. Needs a namespace. */
  | "TUNINGS"
  /** What GetReadMode returns. Needs a namespace. */
  | "READ_MODE"
  /** What GetVerify returns. Needs a namespace and verify_id. */
  | "VERIFY"
  /** What ListServers returns. Times and ages that change by themselves are no changes. */
  | "SERVERS";

/** What there is of one topic, or what has changed of it. Without a topic it only says that nothing has. */
export interface WatchResponse {
  /** Where to resume. */
  readonly cursor: string;
  readonly serverTime: string;
  /** The server's name in histories. */
  readonly process: string;
  /** Not given in a sign of life: one is sent when nothing has changed for 10 s. */
  readonly topic?: WatchRequestTopic;
  /**
   * This is all there is: what was sent before and is not in here does not exist any more. Otherwise
   * it is only what has changed.
   */
  readonly snapshot: boolean;
  /** There are more than the topic sends. */
  readonly truncated: boolean;
  /**
   * What does not exist any more: names of namespaces, slices or servers, ids of tunings, and for
   * splits "namespace/splitId".
   */
  readonly removed: readonly string[];
  /** Why what was sent may be out of date: the server cannot read it at the moment. Empty otherwise. */
  readonly stale: string;
  /** The server ends the stream, and why. Call again with the cursor. Empty otherwise. */
  readonly ending: string;
  readonly status?: ServerStatus;
  readonly metrics?: MetricsHistory;
  readonly namespaces: readonly Namespace[];
  /** Without their parts. */
  readonly splits: readonly Split[];
  readonly slices: readonly TimeSlice[];
  readonly tunings: readonly Tuning[];
  readonly readMode?: ReadMode;
  readonly verification?: Verification;
  readonly servers: readonly ServerProcess[];
}

/**
 * One immutable event of a time series. Its identity is (event_time, event_id).
 *
 * Braid stores and returns exactly this encoding, with the fields in order and each at most once.
 * Field numbers are on disk: never change or reuse one.
 */
export interface EventRecord {
  /** The owner of the event: a profile, a device, a video. 1 to 512 bytes of UTF-8. */
  readonly timeSeriesId: string;
  /** When it happened, in whole microseconds. A finer time is an error; Braid does not round it. */
  readonly eventTime: string;
  /** Distinguishes the events of one microsecond. 1 to 256 bytes of UTF-8. */
  readonly eventId: string;
  /** The content: at most 256 items, each key once. */
  readonly eventItems: readonly EventItem[];
}

/** One key and value of an event. */
export interface EventItem {
  /** 1 to 256 bytes of UTF-8, unique in its event. */
  readonly eventItemKey: string;
  /** Any bytes; Braid does not interpret them. */
  readonly eventItemValue: string;
}

/** A half-open range of event time: it includes start and excludes end. Both are required. */
export interface TimeInterval {
  readonly start: string;
  readonly end: string;
}

/** Selects the events that have an item with this key and exactly this value. */
export interface EventFilter {
  readonly matchEventItemKey: string;
  readonly matchEventItemValue: string;
}

/** The cost of an answer, and whether it is complete. */
export interface ResponseContext {
  readonly namespace: string;
  readonly timeTaken: string;
  /** How many partitions were read. */
  readonly partitionsRead: number;
  /** How many of them were served from a split. */
  readonly splitPartitionsRead: number;
  /** Bytes of the events examined, filtered ones included. */
  readonly bytesRead: string;
  /** True if the read stopped at its latency limit. The page token continues from there. */
  readonly partial: boolean;
  /** Why the answer is partial; empty if it is not. */
  readonly partialReason: string;
}

export interface ListFiltersRequest {
  /** Default: all namespaces. */
  readonly namespace?: string;
  /** Default: 100; at most 1,000. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface ListFiltersResponse {
  /** By namespace and slice. */
  readonly filters: readonly SliceFilter[];
  readonly nextPageToken: string;
  /** The process that answers: filters are its own, and others have read other slices. */
  readonly process: string;
  /** Of all filters of the process, or of the namespace that was asked for. */
  readonly total: number;
  readonly totalBytes: string;
  /** The age at which a process refuses to act on a view. */
  readonly viewMaxAge: string;
}

/** The Bloom filter of a slice in the process that answers: which of its partitions may be split. */
export interface SliceFilter {
  readonly namespace: string;
  readonly timeSlice: string;
  /** About how many partitions of the slice are split. 0: none, and no filter takes up memory. */
  readonly entries: string;
  /** For how many it has room; with more it is built again, larger. */
  readonly capacity: string;
  readonly bytes: string;
  /** How often reads asked it since the process opened it, at open_time. */
  readonly checks: string;
  /** How often it answered "perhaps". */
  readonly hits: string;
  /** How often "perhaps" was wrong: the partition has no split. */
  readonly falsePositives: string;
  /**
   * False positives among the partitions without a split: what a full filter has at most, what this
   * one should have with its entries, and what was observed. The last is not given before the first
   * check of such a partition.
   */
  readonly configuredRate: number;
  readonly expectedRate: number;
  readonly observedRate?: number;
  /** How long ago it was brought up to date. */
  readonly age: string;
  /** When it was filled from the catalog last, and when the process opened it. */
  readonly loadTime: string;
  readonly openTime: string;
}

export interface ListIdsRequest {
  readonly namespace?: string;
  /** Only ids that begin with it; empty for all. */
  readonly prefix?: string;
  /** Default: the newest eight slices. */
  readonly timeSlice?: string;
  /** Default: 100; at most 1,000. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface ListIdsResponse {
  /**
   * By their UTF-8 bytes, and an id behind all ids that begin with it. A page may be short, or
   * empty, where the search reached its time limit: next_page_token continues it.
   */
  readonly timeSeriesIds: readonly string[];
  readonly nextPageToken: string;
  /** The slices that were searched, newest first. */
  readonly timeSlices: readonly string[];
  /** How many older slices were not: name one in the request to search it. */
  readonly notSearched: number;
}

export interface GetMetricsHistoryRequest {
  readonly resolution?: GetMetricsHistoryRequestResolution;
  /** Only what concerns this namespace. Default: the whole process. */
  readonly namespace?: string;
  /**
   * Names of series, or beginnings of names that end with a dot ("read_latency."). At most 100.
   * Default: all.
   */
  readonly series?: readonly string[];
  /** Only samples that begin at this time or later: to fetch what is new. */
  readonly since?: string;
}

export type GetMetricsHistoryRequestResolution =
  /** The last 10 minutes. */
  | "SECOND"
  /** The last 24 hours; the last sample is of the minute in progress. The default. */
  | "MINUTE";

/**
 * The figures of one server over time. Sample i is of the time from start_time + i * step on, for
 * one step.
 */
export interface MetricsHistory {
  /** The server's name in histories, as in ServerStatus. */
  readonly process: string;
  /** When it started: it knows nothing of the time before. */
  readonly processStartTime: string;
  /** Between two samples: one second or one minute. */
  readonly step: string;
  /** When the first sample begins. Not given if there is no sample yet. */
  readonly startTime?: string;
  /** How many samples each series has. */
  readonly samples: number;
  /** By name. Empty for a namespace that has no series of its own. */
  readonly series: readonly MetricSeries[];
  /** The namespaces that have series of their own: the busiest, at most 16. */
  readonly namespaces: readonly string[];
}

/** One figure over time. docs/operate/metrics.md explains each. */
export interface MetricSeries {
  /**
   * For example reads, read_latency.p99 or refusals.OVERLOADED. Of figures by code, reason or route
   * only those are there that the server has met.
   */
  readonly name: string;
  /** 1/s, events/s, B/s, B, s, ratio, or what is counted. */
  readonly unit: string;
  /**
   * One for each sample. NaN where there is none: the process slept, or nothing happened that could
   * be measured. In JSON that is the text "NaN".
   */
  readonly values: readonly number[];
}

/**
 * The settings of a namespace. A field left out of a request keeps its value, or takes its default
 * in CreateNamespace.
 */
export interface NamespaceConfig {
  readonly timePartition: TimePartition;
  /** How late an event may be. */
  readonly acceptLimit: string;
  /** How early an event may be. */
  readonly futureLimit: string;
  readonly retention: NamespaceConfigRetention;
  readonly slos: NamespaceConfigSlos;
  readonly consistency: NamespaceConfigConsistencyLevel;
  readonly widePartition: NamespaceConfigWidePartition;
  readonly tuning: NamespaceConfigTuning;
}

export type NamespaceConfigConsistencyLevel =
  | "READ_YOUR_WRITES"
  | "EVENTUAL";

export interface NamespaceConfigRetention {
  /** The age at which a slice is closed: neither read nor written. It can be reopened. */
  readonly closeAfter: string;
  /** The age at which a slice is dropped and its disk space freed. */
  readonly deleteAfter: string;
}

export interface NamespaceConfigLatency {
  readonly target: string;
  readonly max: string;
}

export interface NamespaceConfigSlos {
  readonly read: NamespaceConfigLatency;
  readonly write: NamespaceConfigLatency;
}

export type NamespaceConfigWhenHarmlessAction =
  | "SPLIT"
  | "LEAVE";

export interface NamespaceConfigWidePartition {
  /** Whether reads report wide partitions. */
  readonly detect: boolean;
  /**
   * A read that saw more than this of one partition reports it. Default: 10 MiB or 100,000
   * events.
   */
  readonly bytesMax: string;
  readonly eventsMax: string;
  /** The size of a part. Default: 8 MiB; at most bytes_max. */
  readonly targetBytes: string;
  /** The number of parts of one partition. Default: 4,096. Beyond that, parts grow. */
  readonly maxParts: number;
  /** Default: PACKED. */
  readonly layout: NamespaceConfigWidePartitionLayout;
  /** AUTO (the default), EVENT_BUCKETS, TIME_BUCKETS or HASH. */
  readonly strategy: string;
  /**
   * What to do with a wide partition whose pages and whole range are read within
   * slos.read.target: SPLIT it (the default), or LEAVE it and check again later.
   */
  readonly whenHarmless: NamespaceConfigWhenHarmlessAction;
}

export type NamespaceConfigWidePartitionLayout =
  | "PACKED"
  | "ROWS";

export interface NamespaceConfigTuning {
  readonly mode: NamespaceConfigTuningMode;
  readonly densityMinBytes: string;
  readonly densityMaxBytes: string;
}

export type NamespaceConfigTuningMode =
  | "PROPOSE"
  | "OFF"
  | "AUTO";

/** A number with its uncertainty. With mid alone it is certain. */
export interface Estimate {
  /** The truth is below low as often as above high. */
  readonly low: number;
  /** The median. */
  readonly mid: number;
  readonly high: number;
  /** The probability that the truth lies between low and high: 0.5 to 0.99. Default: 0.9. */
  readonly confidence: number;
}

/**
 * What is known about a workload before there is data. Only ids and events_per_day_per_id are
 * required; the answer says what it assumed for the others.
 */
export interface Workload {
  readonly ids: Estimate;
  /** The mean over all ids. */
  readonly eventsPerDayPerId: Estimate;
  /** Default: LOGNORMAL with 1. */
  readonly skew: WorkloadSkew;
  /** The size of an event as the API encodes it, with its ids. Default: 1 KiB. */
  readonly eventBytes: Estimate;
  /** The rate of an id's busiest hour of a day, in multiples of its mean rate. Default: 2. */
  readonly burstiness: Estimate;
  /** Default: a day. */
  readonly readIntervalSeconds: Estimate;
  /** A read ends after this many events, though its interval has more. Default: 1,000. */
  readonly eventsPerRead: Estimate;
  /** Default: 100, from 10 to 1,000. */
  readonly readsPerSecond: Estimate;
  /** For machines. Default: ids times events a day. */
  readonly writesPerSecond: Estimate;
  /** Of the number of ids, and with it of reads and writes. Default: 0. */
  readonly growthPercentPerMonth: Estimate;
  /** Bytes on disk for each byte of events, on one replica. Default: 0.5, from 0.3 to 0.8. */
  readonly compressionRatio: Estimate;
  /** Copies of each event. Default: 3. */
  readonly replication: number;
  /** Zones, of which one may be lost. Default: 3. */
  readonly zones: number;
  /** The machines are enough for this long. Default: 12. */
  readonly horizonMonths: number;
  /**
   * How long events can be read: retention.close_after of the namespace. delete_after follows it by
   * a fifteenth, at most a day. Default: that of a namespace.
   */
  readonly retention: string;
  readonly acceptLimit: string;
  readonly slos: NamespaceConfigSlos;
  readonly consistency: NamespaceConfigConsistencyLevel;
}

/** How the events are distributed over ids: a distribution, or percentiles. */
export interface WorkloadSkew {
  /** EVEN, LOGNORMAL, ZIPF or PARETO. */
  readonly distribution?: string;
  /** LOGNORMAL: sigma; ZIPF: the exponent; PARETO: alpha, above 1. */
  readonly parameter?: Estimate;
  /** At most 50, instead of a distribution. They give the mean if events_per_day_per_id does not. */
  readonly percentiles: readonly WorkloadSkewPercentile[];
}

export interface WorkloadSkewPercentile {
  /** Above 0, at most 100, which is the busiest id. */
  readonly percentile: number;
  /** This percentage of the ids has at most this many events a day. */
  readonly eventsPerDay: number;
}

/** The machines that a plan may use. */
export interface Hardware {
  /** The day of the figures. */
  readonly asOf: string;
  /** For Cassandra. */
  readonly nodes: readonly HardwareShape[];
  /** For servers and workers. */
  readonly servers: readonly HardwareShape[];
}

export interface HardwareShape {
  readonly name: string;
  readonly cpus: number;
  readonly memoryGib: number;
  /** Local disk. For servers and workers: 0. */
  readonly diskGib: number;
  /** In any currency. Unless every shape has one, the fewest CPUs win. */
  readonly monthlyCost: number;
}

export interface PlanNamespaceRequest {
  readonly workload?: Given<Workload>;
  /** Selects the worlds that are simulated. Default: 1. */
  readonly seed?: number;
  /** How many worlds are simulated, at most 1,024. Default: 256. */
  readonly worlds?: number;
  /**
   * The rest of the namespace's configuration, such as the limits of wide partitions.
   * time_partition must not be given.
   */
  readonly config?: Given<NamespaceConfig>;
  /** Default: a small built-in table. */
  readonly hardware?: Given<Hardware>;
}

/** From the fifth to the ninety-fifth percentile of the simulated worlds. */
export interface PlanBand {
  readonly low: number;
  readonly mid: number;
  readonly high: number;
}

/** A partitioning, and what the simulation expects of it. */
export interface PartitionPlan {
  readonly timePartition: TimePartition;
  /** How much more it costs than the best partitioning of each world, in the mean. */
  readonly regret: number;
  readonly costs: PartitionPlanCosts;
  /** Sizes of the partitions of a slice, in bytes of events. */
  readonly p50Bytes: PlanBand;
  readonly p99Bytes: PlanBand;
  readonly maxBytes: PlanBand;
  /** Shares from 0 to 1 beyond the limit of a partition: what splits have to repair. */
  readonly idsBeyondLimit: PlanBand;
  readonly readsBeyondLimit: PlanBand;
  readonly bytesBeyondLimit: PlanBand;
  /** The mean over all reads, and what asking them costs the nodes. */
  readonly partitionsPerRead: PlanBand;
  readonly readOverheadMs: PlanBand;
  /** Events per second, of the busiest id in its busiest hour. */
  readonly peakWritesPerPartition: PlanBand;
  /** Tables that exist at a time, two for each slice. */
  readonly tables: number;
  /** At the horizon: all replicas, compressed, with the copies of splits. */
  readonly diskBytes: PlanBand;
}

/** In doublings: of the time of reads, of a partition's limit, of disk, and so on. */
export interface PartitionPlanCosts {
  readonly reads: number;
  readonly wide: number;
  readonly hotSpots: number;
  readonly disk: number;
  readonly tables: number;
}

export interface RejectedPlan {
  /** For example "public planner" or "wider time bucket". */
  readonly name: string;
  readonly plan: PartitionPlan;
  readonly whyNot: string;
}

/** Machines that are enough in nine of ten worlds, at the horizon. */
export interface Infrastructure {
  readonly hardwareAsOf: string;
  readonly zones: number;
  readonly replication: number;
  readonly cassandra: InfrastructureMachines;
  readonly servers: InfrastructureMachines;
  readonly workers: InfrastructureMachines;
  readonly peakReadsPerSecond: number;
  readonly peakWritesPerSecond: number;
  /** All replicas, compressed, with the copies of splits. */
  readonly diskBytes: number;
  /** Whether one machine with the embedded engine is enough. */
  readonly fitsOneMachine: boolean;
}

export interface InfrastructureMachines {
  readonly shape: HardwareShape;
  readonly count: number;
  /** What decides the count: cpu, disk, or zones (the least number for zones and replicas). */
  readonly decidedBy: string;
}

export interface PlanNamespaceResponse {
  readonly chosen: PartitionPlan;
  readonly alternatives: readonly RejectedPlan[];
  readonly infrastructure: Infrastructure;
  /** What was assumed, and what to know about the answer. */
  readonly notes: readonly string[];
  readonly seed: number;
  readonly worlds: number;
  /** How many partitionings were compared. */
  readonly candidates: number;
}

/** The plan a namespace was created with. */
export interface ProvisionedPlan {
  readonly planTime: string;
  readonly seed: number;
  readonly plan: PartitionPlan;
  /** For each alternative, why it was not chosen. */
  readonly why: readonly string[];
}

export type GetQueueRequest = Readonly<Record<string, never>>;

/**
 * The queue of detections, as the server that answers sees it. Kafka's is that of all processes; an
 * embedded one belongs to this process.
 */
export interface QueueStatus {
  /** embedded or kafka. */
  readonly queue: string;
  /** Messages that wait, in all partitions. */
  readonly waiting: string;
  /** When the first of them was published. Not given if none waits. */
  readonly oldestTime?: string;
  /**
   * Messages per second, over the time given: since an earlier call to this server, at most two
   * minutes ago. Not given if there was none.
   */
  readonly publishedPerSecond?: number;
  readonly handledPerSecond?: number;
  readonly rateOver?: string;
  /** Messages that this process handles now, and those that it holds until the queue takes them. */
  readonly inFlight: string;
  readonly buffered: string;
  readonly partitions: readonly QueueStatusPartition[];
  /** Dead letters that were neither replayed nor dropped; at most so many. */
  readonly deadLetters: string;
  /** The process that answers. */
  readonly process: string;
}

export interface QueueStatusPartition {
  readonly topic: string;
  readonly partition: number;
  /** Messages that no worker has handled yet. */
  readonly waiting: string;
  /** When the first of them was published. Not given if none waits. */
  readonly oldestTime?: string;
}

export interface ListDeadDetectionsRequest {
  /** At most 1,000. Default: 100. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

/** A message that no worker could decode. */
export interface DeadDetection {
  /** Names it in ReplayDeadDetections and DropDeadDetections, for example 0:17. */
  readonly position: string;
  /** Why it could not be handled. */
  readonly reason: string;
  /** When it became a dead letter. */
  readonly time: string;
  readonly key: string;
  /** The first 4,096 bytes of its value. */
  readonly value: string;
  /** The length of the whole value. */
  readonly valueBytes: string;
  /** False: the value was too large to be kept, so it cannot be replayed. */
  readonly kept: boolean;
  /** Where it came from: topic, partition and offset. Empty if that is not known. */
  readonly origin: string;
  /** Not given if this version cannot decode it either: a replay makes it a dead letter again. */
  readonly detection?: DeadDetectionDetection;
}

/** What it says, as far as this version can decode it. */
export interface DeadDetectionDetection {
  readonly namespace: string;
  readonly partition: Partition;
  readonly immutable: boolean;
  /**
   * The namespace's epoch when the detection was made. If the namespace has another one now, a replay
   * does nothing.
   */
  readonly epoch: string;
  readonly bytes: string;
  readonly events: string;
  readonly detectTime: string;
}

export interface DeadDetectionAction {
  readonly time: string;
  /** The operator, as the request's braid-operator header claims. */
  readonly by: string;
  /** "replayed" or "dropped". */
  readonly action: string;
  readonly count: string;
  readonly reason: string;
}

export interface ListDeadDetectionsResponse {
  /** Oldest first; without those that were replayed or dropped. */
  readonly deadDetections: readonly DeadDetection[];
  /** Empty after the last page. */
  readonly nextPageToken: string;
  /** What operators did last, oldest first; at most 50. */
  readonly actions: readonly DeadDetectionAction[];
}

export interface ReplayDeadDetectionsRequest {
  /** At most 100. */
  readonly positions?: readonly string[];
  /** Instead of positions: all of them. */
  readonly all?: boolean;
  /** Recorded with the action; at most 1,024 characters. */
  readonly reason?: string;
}

export interface DropDeadDetectionsRequest {
  /** At most 100. */
  readonly positions?: readonly string[];
  /** Instead of positions: all of them. */
  readonly all?: boolean;
  /** Recorded with the action, and required; at most 1,024 characters. */
  readonly reason?: string;
}

export interface DeadDetectionsAnswer {
  /** How many were replayed or dropped. */
  readonly count: string;
  /** Positions that have no dead letter: replayed or dropped before, expired, or never there. */
  readonly missing: readonly string[];
  /** Not replayed, because their value was too large to be kept. */
  readonly notKept: readonly string[];
  /** There are more than one request handles: repeat it. */
  readonly more: boolean;
}

/** How far the reads of a namespace trust its splits, and the evidence for it. */
export interface ReadMode {
  readonly mode: ReadModeMode;
  /** Collected since this mode began. */
  readonly evidence: readonly ReadModeEvidence[];
  /** Not given in the last mode. */
  readonly nextMode?: ReadModeMode;
  /** Why the mode has not advanced yet; empty if nothing blocks it. */
  readonly blockedBy: string;
  /** Whether the mode advances by itself when the evidence allows it. */
  readonly autoAdvance: boolean;
  /** When this mode began. */
  readonly since: string;
  /** The process that set it, or the operator as claimed. */
  readonly by: string;
  readonly reason: string;
  /** While it is on, reads use no split, whatever the mode. */
  readonly killSwitch: KillSwitch;
  /** Not given unless the splits of the namespace are paused. Completed splits stay in use. */
  readonly splitsPause?: SplitsPause;
}

export type ReadModeMode =
  /** Reads use originals. */
  | "OFF"
  /**
   * Reads use originals. A server compares its first reads of each split byte for byte, then a
   * sample by counts and bytes.
   */
  | "SHADOW"
  /** Reads use originals, and every read is compared byte for byte. */
  | "COMPARE"
  /** Reads use splits, and a sample is compared. */
  | "SERVE";

/**
 * The results of comparisons in this mode, for one kind of split. A read without events is not
 * counted.
 */
export interface ReadModeEvidence {
  readonly layout: string;
  readonly strategy: string;
  readonly readsCompared: string;
  readonly bytesMatched: string;
  readonly bytesDiffered: string;
  readonly since: string;
  /** Distinct splits that were compared; counted up to 128. */
  readonly splitsCompared: string;
}

export interface GetReadModeRequest {
  readonly namespace?: string;
}

export interface SetReadModeRequest {
  readonly namespace?: string;
  readonly mode?: ReadModeMode;
  /** Sets the mode whatever the evidence says. */
  readonly force?: boolean;
  /** Unchanged if not given. */
  readonly autoAdvance?: boolean;
  /** Recorded with the change; at most 1,024 characters. */
  readonly reason?: string;
}

export interface GetRemediesRequest {
  readonly namespace?: string;
}

export interface GetRemediesResponse {
  /** One for each problem; one that says so if there is none. */
  readonly remedies: readonly Remedy[];
}

/** A problem of a namespace's partitions, and what to do about it. */
export interface Remedy {
  readonly problem: string;
  readonly remedy: RemedyKind;
  readonly why: string;
  /** What to run. Empty if there is nothing to do. */
  readonly command: string;
}

export type RemedyKind =
  /** Nobody suffers, or Braid does it by itself. */
  | "NOTHING"
  /** Callers that prefer an incomplete answer in time set allowPartial. */
  | "PARTIAL"
  /** The id should not exist: a test, a bot, a loop. */
  | "BLOCK"
  /** The slice lies in many files. */
  | "COMPACT"
  /** Most ids are wide, or most are tiny: other partitions for future slices. */
  | "RETUNE"
  /** A few ids are wide, and their readers need complete answers. */
  | "SPLIT";

export type ListServersRequest = Readonly<Record<string, never>>;

export interface ListServersResponse {
  /** By name; at most 1,000. */
  readonly servers: readonly ServerProcess[];
  /** The name of the process that answers. */
  readonly answeredBy: string;
  /** How many processes of a newer version run whose announcement this server cannot read. */
  readonly unreadable: number;
  /** The age at which a process refuses to act on a view. */
  readonly viewMaxAge: string;
  /** The answering server's clock. */
  readonly serverTime: string;
}

/**
 * A server or worker of the installation, as it announced itself. Each does so every 10 s. The
 * figures of the process that answers are of this moment.
 */
export interface ServerProcess {
  /** The name of this process in histories. */
  readonly name: string;
  readonly role: ServerProcessRole;
  /** Of Braid, for example 0.1.0. */
  readonly version: string;
  /** The commit it was built from, or "source" in a clone. */
  readonly build: string;
  /** Of Node.js, for example v24.1.0. */
  readonly nodeVersion: string;
  /** embedded or cassandra. */
  readonly engine: string;
  /** embedded or kafka. */
  readonly queue: string;
  /** The name of its machine. */
  readonly host: string;
  /** By the clock of that process, as is last_seen_time. */
  readonly startTime: string;
  /** When it last announced itself. */
  readonly lastSeenTime: string;
  /**
   * It has not announced itself for 30 s: it hangs, cannot reach the catalog, or died. After 10 min
   * it is no longer listed.
   */
  readonly silent: boolean;
  /** It finishes the requests in flight and stops. */
  readonly draining: boolean;
  /** How many namespaces it has a view of. */
  readonly namespaces: number;
  /** The age of its oldest view of a namespace. */
  readonly oldestViewAge: string;
  /** How long ago the Bloom filter that lags most was brought up to date; not given if it has none. */
  readonly oldestFilterAge?: string;
  /** It does not believe the clock of its machine. */
  readonly clockInDoubt: boolean;
}

export type ServerProcessRole =
  /** Answers callers. */
  | "SERVER"
  /** Works on splits, sizes and tunings. */
  | "WORKER"
  /** Does both: a server with a queue of its own. */
  | "SERVER_AND_WORKER";

/** One partition of a namespace. */
export interface Partition {
  /** For example data_20260328. */
  readonly timeSlice: string;
  readonly timeSeriesId: string;
  /** Counted from 0 at the start of the slice. */
  readonly timeBucket: number;
  readonly eventBucket: number;
}

/**
 * The copy of a wide partition's sealed time into small parts, and its progress. The original
 * stays.
 */
export interface Split {
  readonly preSplitData: SplitPreSplitData;
  /**
   * By time, without gaps, from the start of the partition's time bucket. Only the newest can be
   * unfinished.
   */
  readonly segments: readonly SplitSegment[];
  /** The state of the newest segment. */
  readonly state: SplitState;
  /** The epoch of the namespace when the split last began. */
  readonly epoch: string;
  readonly latency: SplitLatency;
  /** Oldest first. A long history lacks its middle. */
  readonly history: readonly SplitMove[];
  readonly namespace: string;
  /** Why it is in this state. */
  readonly reason: string;
  readonly detectTime: string;
  /** When a worker checks it again; not given if nothing is scheduled. */
  readonly dueTime?: string;
  /** The process that works on it; empty if none does. */
  readonly owner: string;
  /** Differences between copy and original in a row. After three, only RetrySplit continues it. */
  readonly failures: number;
  /** Whether it is held: only RetrySplit continues it. */
  readonly held: boolean;
  /** Who holds it: an operator, or Braid itself if the split differs from its original. */
  readonly heldBy: string;
  /** Whether the partition could no longer change when it was detected. */
  readonly immutable: boolean;
  /** Raised by every change. */
  readonly version: string;
  /**
   * A short hash of the namespace and the partition. Every method that takes a partition also
   * accepts it.
   */
  readonly splitId: string;
  /**
   * The event time of the partition's time bucket: includes start, excludes end. Not given if its
   * slice is dropped.
   */
  readonly bucketStart?: string;
  readonly bucketEnd?: string;
  /** Not given if nothing is planned, or if everything planned is copied and confirmed. */
  readonly progress?: SplitProgress;
  /** How many times a worker has taken it up; the fence of its owner. */
  readonly attempts: string;
  /**
   * Rises every few seconds while the owner lives. If it stands still for 10 seconds, another worker
   * takes the split over. 0 without an owner.
   */
  readonly heartbeat: string;
  /** When it last moved; the last entry of history. */
  readonly moveTime: string;
}

export type SplitState =
  /** A read detected it, or an operator requested it. */
  | "DETECTED"
  /** A worker reads the partition to find out what there is to copy. */
  | "PLANNING"
  /** What to copy, and how, is fixed. */
  | "PLANNED"
  /** A worker writes the parts. */
  | "SPLITTING"
  /** A worker reads the parts back and compares them. */
  | "VALIDATING"
  /**
   * The copy is equal to the original. Reads use it once it is confirmed and the read mode allows
   * it.
   */
  | "COMPLETED"
  /** The work cannot continue now; a worker tries again at due_time. */
  | "PARKED"
  /** The partition is not split, for the reason given. */
  | "REFUSED"
  /** Copy and original differed. */
  | "FAILED"
  /** An operator rolled it back, or a comparison found a difference. */
  | "INVALIDATED";

/** The original partition. */
export interface SplitPreSplitData {
  readonly timeSlice: string;
  readonly timeSeriesId: string;
  readonly timeBucket: number;
  readonly eventBucket: number;
  /** A lower bound: what the detection saw, or what was copied if that is more. */
  readonly bytes: string;
  readonly events: string;
  /**
   * What the pass over the original gave while it was copied: original_checksum of the segments,
   * joined by "+".
   */
  readonly checksum: string;
}

/** Which event buckets of the split table hold the parts. */
export interface SplitEventBucketPartitionStrategy {
  /** The number of parts. */
  readonly targetEventBuckets: number;
  /**
   * The event bucket of the first part. The field parts has the others: their numbers need not be
   * consecutive.
   */
  readonly startEventBucket: number;
}

/** A part that is completely written. */
export interface SplitPart {
  /** Its event bucket in the split table. */
  readonly eventBucket: number;
  /** The event time it covers: includes from, excludes to. */
  readonly from: string;
  readonly to: string;
  readonly bytes: string;
  readonly events: string;
}

/** The copy of one segment. */
export interface SplitPostSplitData {
  /** The split table, for example wide_data_20260328_0. */
  readonly timeSlice: string;
  readonly layout: SplitPostSplitDataLayout;
  /** EVENT_BUCKETS, TIME_BUCKETS or HASH. */
  readonly strategy: string;
  readonly eventBucketPartitionStrategy: SplitEventBucketPartitionStrategy;
  /** In the order they were written, newest time first. Not given by ListSplits. */
  readonly parts: readonly SplitPart[];
  /** Totals of the parts written so far. */
  readonly bytes: string;
  readonly events: string;
  /**
   * What the parts gave when a worker read them back. It equals original_checksum if the copy is
   * whole. Empty until then, and for a copy of a version that did not keep it.
   */
  readonly checksum: string;
}

export type SplitPostSplitDataLayout =
  /** Blocks of many events. */
  | "PACKED"
  /** One row per event. */
  | "ROWS";

/** A range of the partition's time that is copied, validated and served as a whole. */
export interface SplitSegment {
  /** The event time it covers: includes from, excludes to. Fixed before the copy starts. */
  readonly from: string;
  readonly to: string;
  readonly state: SplitState;
  /** The number of this copy of the segment. A recopy has a higher one. */
  readonly generation: string;
  readonly postSplitData: SplitPostSplitData;
  /** Why the partition is split, and why in this way. */
  readonly why: string;
  /** The checkpoint: written parts hold everything from here to the end of the segment. */
  readonly copiedTo: string;
  /**
   * Whether a second, separate read of the original agreed. Reads do not use the segment before
   * that.
   */
  readonly confirmed: boolean;
  /** When that read agreed. */
  readonly confirmTime?: string;
  /** A part is closed when it holds this many bytes. */
  readonly partBytes: string;
  /** What the pass over the original gave. Empty until all parts are written. */
  readonly originalChecksum: string;
}

/** Latencies of pages of this partition that a worker read to measure them; 0 if it read none. */
export interface SplitSeenLatency {
  readonly reads: string;
  readonly meanMs: number;
  readonly maxMs: number;
}

export interface SplitLatency {
  /** Read from the original. */
  readonly before: SplitSeenLatency;
  /** Read from the split. */
  readonly after: SplitSeenLatency;
}

/** How far a worker has come with the newest segment, as of the owner's last heartbeat. */
export interface SplitProgress {
  readonly step: SplitProgressStep;
  readonly bytesDone: string;
  /** Of this step alone. */
  readonly bytesTotal: string;
  readonly eventsDone: string;
  readonly eventsTotal: string;
  /** False: the totals are what was seen so far, and there may be more. */
  readonly totalExact: boolean;
}

export type SplitProgressStep =
  /** Reads the original and writes parts. */
  | "COPY"
  /** Reads the parts back. */
  | "VALIDATE"
  /** Reads the original a second time. */
  | "CONFIRM";

export interface SplitMove {
  readonly at: string;
  /** The process, or the operator as the request's braid-operator header claims. */
  readonly by: string;
  /** Not given for the first move. */
  readonly from?: SplitState;
  readonly to: SplitState;
  /** For people. Programs use cause. */
  readonly reason: string;
  /** For programs: one word of a fixed list that docs/operate/splits.md explains. */
  readonly cause: string;
  /** How many times in a row the same move happened. A repeat replaces the previous entry. */
  readonly times: number;
}

export interface ListSplitsRequest {
  /** All namespaces, in order of their names, if empty. */
  readonly namespace?: string;
  /** Only splits in this state; all if not given. */
  readonly state?: SplitState;
  /** At most 1,000. Default: 100. */
  readonly pageSize?: number;
  readonly pageToken?: string;
  /** Instead of state: only splits in one of these. */
  readonly states?: readonly SplitState[];
  readonly order?: ListSplitsRequestOrder;
}

export type ListSplitsRequestOrder =
  /** By namespace, slice and partition, page by page. The default. */
  | "BY_PARTITION"
  /**
   * Those that moved last come first. One page without a token: the server examines a bounded
   * number of records, the newest slices of each namespace first; examined_all says whether these
   * were all.
   */
  | "NEWEST_FIRST";

export interface ListSplitsResponse {
  readonly splits: readonly Split[];
  /** Empty after the last page. A page may be short, even empty, and still have a token. */
  readonly nextPageToken: string;
  /** While it is on, reads use no split. */
  readonly killSwitch: KillSwitch;
  /** The namespaces on this page whose splits are paused. */
  readonly paused: readonly SplitsPause[];
  /**
   * Records that this page leaves out because the server cannot decode them: a split, or a namespace
   * with all of its splits. The server's log names them.
   */
  readonly unreadable: string;
  /** Whether there are no others: no page follows, and nothing was left unexamined. */
  readonly examinedAll: boolean;
}

export interface GetSplitSummaryRequest {
  /** All namespaces that have splits, in order of their names, if empty. */
  readonly namespace?: string;
  /** At most 1,000. Default: 100. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

/** Names a split by partition or by split_id. */
export interface GetSplitRequest {
  readonly namespace?: string;
  readonly partition?: Given<Partition>;
  /** Instead of partition. */
  readonly splitId?: string;
}

export interface RequestSplitRequest {
  readonly namespace?: string;
  readonly partition?: Given<Partition>;
  /** Recorded in the history; at most 1,024 characters. */
  readonly reason?: string;
  /** Instead of partition. Only for a split that has a record. */
  readonly splitId?: string;
  /** Splits the partition even if it is not wide. */
  readonly force?: boolean;
}

export interface RetrySplitRequest {
  readonly namespace?: string;
  readonly partition?: Given<Partition>;
  /** Recorded in the history; at most 1,024 characters. */
  readonly reason?: string;
  /** Instead of partition. */
  readonly splitId?: string;
}

export interface RollbackSplitRequest {
  readonly namespace?: string;
  readonly partition?: Given<Partition>;
  /** Recorded in the history; at most 1,024 characters. */
  readonly reason?: string;
  /** Instead of partition. */
  readonly splitId?: string;
}

export interface PauseSplitsRequest {
  readonly namespace?: string;
  /** Recorded with the pause; at most 1,024 characters. */
  readonly reason?: string;
}

export interface PauseSplitsResponse {
  /** The pause in force. A repeat keeps the time, operator and reason of the first. */
  readonly pause: SplitsPause;
  /** Whether the splits were paused already. */
  readonly wasPaused: boolean;
}

export interface ResumeSplitsRequest {
  readonly namespace?: string;
  /** Not stored. At most 1,024 characters. */
  readonly reason?: string;
}

export interface ResumeSplitsResponse {
  /** False if the splits were not paused. */
  readonly wasPaused: boolean;
}

export type GetStatusRequest = Readonly<Record<string, never>>;

/** The server that answers, and what it knows of the installation. */
export interface ServerStatus {
  /** Of Braid, for example 0.1.0. */
  readonly version: string;
  /** The commit it was built from, or "source" in a clone. */
  readonly build: string;
  /** Of Node.js, for example v24.1.0. */
  readonly nodeVersion: string;
  /** embedded or cassandra. */
  readonly engine: string;
  /** embedded or kafka. */
  readonly queue: string;
  /** The name of this process in histories. */
  readonly process: string;
  readonly startTime: string;
  readonly uptime: string;
  /** Whether it serves requests; if not, not_ready says why. */
  readonly ready: boolean;
  readonly notReady: string;
  readonly killSwitch: KillSwitch;
  /** The namespaces whose splits are paused, by name; at most the first 100. */
  readonly paused: readonly SplitsPause[];
  /** How many namespaces this server has a view of. */
  readonly namespaces: number;
  /**
   * The age of this server's oldest view of a namespace, and the age at which it refuses to act on
   * a view.
   */
  readonly oldestViewAge: string;
  readonly viewMaxAge: string;
  /** Of all namespaces together, every state once; empty before the first count. */
  readonly splits: readonly ServerStatusSplitCount[];
  /** When they were counted. One process counts for all, once a minute. */
  readonly splitsTime?: string;
  /** This server's clock when it answered. */
  readonly serverTime: string;
  readonly clock: ClockStatus;
  readonly disk: DiskStatus;
}

/** The number of splits in one state. */
export interface ServerStatusSplitCount {
  readonly state: SplitState;
  readonly count: string;
}

/** The disk of the embedded engine. Empty with another engine. */
export interface DiskStatus {
  /** Not given if it is not known. */
  readonly freeBytes?: string;
  /** Below this many free bytes events are refused (server.free_space_min). */
  readonly freeBytesMin: string;
  /** Events are refused now; reads and deletions continue. */
  readonly readOnly: boolean;
  /** What to do; empty unless read-only. */
  readonly message: string;
}

/** How far a server believes its machine's clock. */
export interface ClockStatus {
  /** While it is in doubt no slice is closed or dropped, and the floor rises with time that passes only. */
  readonly inDoubt: boolean;
  /** What time it is as far as Braid saw time pass. */
  readonly believedTime: string;
  /** By how much the clock is ahead of believed time; negative if it is behind; zero without doubt. */
  readonly leap: string;
  /** How long the clock has run evenly; only in doubt. */
  readonly evenFor?: string;
  /** What it means and what to do; empty without doubt. */
  readonly message: string;
}

export type ConfirmClockRequest = Readonly<Record<string, never>>;

/** While it is on, every read of every namespace uses originals. */
export interface KillSwitch {
  readonly on: boolean;
  /** When it was last set; not given if never. */
  readonly setTime?: string;
  /** The operator who set it, as the request's braid-operator header claims. */
  readonly by: string;
  readonly reason: string;
  /**
   * Only in the answer of SetKillSwitch: the switch was already set so, and keeps the time,
   * operator and reason of the first request.
   */
  readonly unchanged: boolean;
}

export type GetKillSwitchRequest = Readonly<Record<string, never>>;

export interface SetKillSwitchRequest {
  readonly on?: boolean;
  /** Recorded with the change; at most 1,024 characters. */
  readonly reason?: string;
}

/** A pause of the work on the splits of a namespace. */
export interface SplitsPause {
  readonly since: string;
  /** The operator who paused it, as the request's braid-operator header claims. */
  readonly by: string;
  readonly reason: string;
  readonly namespace: string;
}

/** How the events of one slice are distributed over partitions. Fixed when the slice is created. */
export interface TimePartition {
  readonly secondsPerTimeSlice: number;
  /** Must divide seconds_per_time_slice. */
  readonly secondsPerTimeBucket: number;
  /** The number of partitions of a time bucket. The hash of the event id selects one. */
  readonly eventBuckets: number;
}

/** Writes and reads events. */
export interface TimeSeriesServiceMethods {
  /** Writes a batch and returns when it is durable, with a reason for each event that failed. */
  readonly WriteEventRecordsSync: { request: WriteEventRecordsSyncRequest; answer: WriteEventRecordsSyncResponse };
  /**
   * Queues a batch and returns on receipt. A crash loses events that are queued but not yet
   * flushed.
   */
  readonly WriteEventRecords: { request: WriteEventRecordsRequest; answer: WriteEventRecordsResponse };
  /** Reads one page of a time series. */
  readonly ReadEventRecords: { request: ReadEventRecordsRequest; answer: ReadEventRecordsResponse };
  /** Reads a whole interval of a time series, page after page. */
  readonly StreamEventRecords: { request: ReadEventRecordsRequest; answer: ReadEventRecordsResponse };
  /**
   * Reads one page and returns how each partition was read instead of the events. With
   * total_record_limit and without page_size, it reads page after page, up to that limit.
   */
  readonly ExplainRead: { request: ReadEventRecordsRequest; answer: ExplainReadResponse };
}

/** A batch of events of one namespace, of any time series and times. */
export interface WriteEventRecordsSyncRequest {
  readonly namespace?: string;
  readonly events?: readonly Given<EventRecord>[];
}

/** A batch of events of one namespace, of any time series and times, to queue. */
export interface WriteEventRecordsRequest {
  readonly namespace?: string;
  readonly events?: readonly Given<EventRecord>[];
}

/** Why one event of a batch was not written. The others are not affected. */
export interface EventFailure {
  /** Its index in the request, from 0. */
  readonly index: number;
  /**
   * EVENT_TOO_OLD, EVENT_TOO_NEW, EVENT_TOO_LARGE, EVENT_INVALID, ID_BLOCKED, OVERLOADED or
   * OUTCOME_UNKNOWN.
   */
  readonly code: string;
  /** What is wrong and what to do. */
  readonly message: string;
}

export interface WriteEventRecordsSyncResponse {
  /** How many events are durable. */
  readonly written: number;
  readonly failures: readonly EventFailure[];
  readonly responseContext: readonly ResponseContext[];
}

export interface WriteEventRecordsResponse {
  /** How many events were queued. */
  readonly accepted: number;
  readonly failures: readonly EventFailure[];
  readonly responseContext: readonly ResponseContext[];
}

/** Which events of one time series to read, and how. */
export interface ReadEventRecordsRequest {
  readonly namespace?: string;
  readonly timeSeriesId?: string;
  readonly timeInterval?: Given<TimeInterval>;
  /** An event must match all of them. */
  readonly eventFilters?: readonly Given<EventFilter>[];
  /** Default: NEWEST_FIRST. */
  readonly order?: ReadEventRecordsRequestOrder;
  /** Events per page, at most 10,000. Default: 100; for a stream, as many as fit. */
  readonly pageSize?: number;
  /** Events of all pages together; no limit if not given. */
  readonly totalRecordLimit?: string;
  /** From the previous page; empty for the first. */
  readonly pageToken?: string;
  /** Stop at the namespace's slos.read.max and return the events read so far, in order. */
  readonly allowPartial?: boolean;
}

/** By (event_time, event_id). Each order is the exact reverse of the other. */
export type ReadEventRecordsRequestOrder =
  | "NEWEST_FIRST"
  | "OLDEST_FIRST";

export interface ReadEventRecordsResponse {
  readonly records: readonly EventRecord[];
  /** Empty after the last page. A page may be short, even empty, and still have a token. */
  readonly nextPageToken: string;
  readonly responseContext: readonly ResponseContext[];
}

/** How each partition of a read was read. */
export interface ExplainReadResponse {
  readonly slices: readonly ExplainedSlice[];
  /** The partitions in the order they were read, then those the page did not reach; at most 1,000. */
  readonly partitions: readonly ExplainedPartition[];
  readonly totals: ExplainedTotals;
}

export interface ExplainedSlice {
  readonly timeSlice: string;
  /** How many time buckets of this slice the interval overlaps. */
  readonly timeBuckets: number;
}

export interface ExplainedPartition {
  readonly timeSlice: string;
  readonly timeBucket: number;
  readonly eventBucket: number;
  readonly route: ExplainedPartitionRoute;
  /** The reason for this route. */
  readonly why: string;
  /** Parts of the split that were read. */
  readonly parts: number;
  readonly bytes: string;
  readonly events: string;
  readonly millis: number;
  /** False if the page was full, or out of time, before this partition. */
  readonly read: boolean;
}

/** The source of the partition's events. */
export type ExplainedPartitionRoute =
  /** The filter of the slice says that the partition is not split. */
  | "ORIGINAL_FILTER_MISS"
  | "ORIGINAL_NOT_SPLIT"
  /**
   * The partition has a split, but the read gave it up or did not trust it; `why` gives the
   * reason.
   */
  | "ORIGINAL_FALLBACK"
  | "SPLIT"
  | "SPLIT_AND_ORIGINAL"
  /**
   * The partition has a split that reads do not use now: read mode, kill switch, no first
   * comparison yet, not confirmed yet, or rolled back. `why` says which.
   */
  | "ORIGINAL_HELD";

export interface ExplainedTotals {
  /** How many partitions the whole interval overlaps. */
  readonly partitions: string;
  readonly partitionsRead: number;
  readonly bytes: string;
  readonly events: string;
  readonly eventsReturned: string;
  readonly millis: number;
}

export interface ListTuningsRequest {
  readonly namespace?: string;
}

export interface ListTuningsResponse {
  /** Oldest first. */
  readonly tunings: readonly Tuning[];
  /**
   * What the tuner would propose from the histograms that are stored now. It has no id, state or
   * history: nothing is stored.
   */
  readonly next: Tuning;
  /**
   * Why it would propose nothing: FITS, TOO_LITTLE_EVIDENCE, NOT_READ, SLICES_DISAGREE,
   * NEWER_SLICES_DISAGREE, EFFECT_NOT_MEASURED, COOLING_DOWN, NOTHING_BETTER, DECIDED_BEFORE,
   * CLOCK_IN_DOUBT or OFF. Empty if it would propose something.
   */
  readonly nothingWhy: string;
}

export interface DecideTuningRequest {
  readonly namespace?: string;
  /** As ListTunings shows it. */
  readonly id?: string;
  /** Applies the proposal to future slices; otherwise refuses it. */
  readonly accept?: boolean;
  readonly reason?: string;
}

/** An observation of partition sizes, and the partitioning of future slices that follows from it. */
export interface Tuning {
  readonly id: string;
  readonly state: TuningState;
  readonly direction: TuningDirection;
  /** The slices whose histograms are the evidence. */
  readonly evidence: readonly string[];
  readonly observed: string;
  readonly proposed: string;
  readonly from: TimePartition;
  readonly to: TimePartition;
  readonly dryRun: TuningDryRun;
  /** Event time from which slices have the new partitioning, once it is applied. */
  readonly effectiveFrom?: string;
  /** What came out, once it is measured. */
  readonly got?: TuningSizes;
  /** Oldest first. */
  readonly history: readonly TuningMove[];
  /** Of the last move. */
  readonly why: string;
}

export type TuningState =
  /** Waits for DecideTuning. */
  | "PROPOSED"
  /** In the configuration; its effect is not measured yet. */
  | "APPLIED"
  /** Measured after two sealed slices. */
  | "EFFECTIVE"
  /** It made things worse, and the former partitioning was restored for future slices. */
  | "TAKEN_BACK"
  | "REFUSED"
  /** A newer observation or another change of the configuration took its place. */
  | "SUPERSEDED";

export type TuningDirection =
  | "WIDEN"
  | "NARROW";

/** Bytes of one partition of the base strategy, before the factors of single ids. */
export interface TuningSizes {
  readonly p50: string;
  readonly p95: string;
  readonly p99: string;
}

/** What the recorded events would look like under the proposed partitioning. */
export interface TuningDryRun {
  readonly before: TuningSizes;
  readonly after: TuningSizes;
  /** Partitions of one id that a read of 24 h touches. */
  readonly partitionsPerDayBefore: string;
  readonly partitionsPerDayAfter: string;
  /**
   * How much longer than now events can be kept, because their slice is longer, and how many
   * bytes that takes.
   */
  readonly keptLongerSeconds: string;
  readonly keptLongerBytes: string;
}

export interface TuningMove {
  readonly at: string;
  /** An operator as claimed, or "tuner". */
  readonly by: string;
  readonly to: TuningState;
  readonly why: string;
}

/**
 * What to compare: one partition, by name or by split_id; a whole slice; or all slices if none is
 * given.
 */
export interface StartVerifyRequest {
  readonly namespace?: string;
  readonly partition?: Given<Partition>;
  readonly timeSlice?: string;
  /** Instead of partition. */
  readonly splitId?: string;
}

export interface StartVerifyResponse {
  /** For GetVerify. */
  readonly verifyId: string;
}

export interface GetVerifyRequest {
  readonly namespace?: string;
  readonly verifyId?: string;
}

/** A comparison of splits with their originals, event by event, and its progress. */
export interface Verification {
  readonly state: VerificationState;
  readonly eventsCompared: string;
  readonly bytesCompared: string;
  /** The first differences; differences_found counts all. */
  readonly differences: readonly VerificationDifference[];
  readonly differencesFound: string;
  readonly verifyId: string;
  readonly namespace: string;
  readonly splitsDone: string;
  /** As far as known. */
  readonly splitsTotal: string;
  readonly startTime: string;
  /** Not given while it runs. */
  readonly endTime?: string;
  /** Why it failed, what it could not compare, or what it waits for. */
  readonly reason: string;
  /** Everything to compare, as counted at the beginning. Not given before that. */
  readonly bytesTotal?: string;
  readonly eventsTotal?: string;
  /** The process that works on it; empty if none does. */
  readonly owner: string;
}

export type VerificationState =
  | "RUNNING"
  /** Everything was compared; differences_found says whether it was equal. */
  | "DONE"
  /**
   * It could not continue, for the reason given. StartVerify within an hour continues it, unless
   * it found differences.
   */
  | "FAILED"
  /**
   * Not used: if its process stops, the comparison stays RUNNING and another process continues
   * it.
   */
  | "STOPPED";

export interface VerificationDifference {
  readonly partition: Partition;
  /**
   * For example "only in original", "only in split", "other bytes", "out of order", "damaged
   * split".
   */
  readonly kind: string;
  readonly eventTime: string;
  readonly eventId: string;
  readonly detail: string;
}

export interface GetWidthMapRequest {
  readonly namespace?: string;
  /** Default: the slice that accepts events now. */
  readonly timeSlice?: string;
  /** Default: SIZE. */
  readonly rows?: WidthMapRows;
  /** Default: PARTITIONS. */
  readonly measure?: GetWidthMapRequestMeasure;
  /** Default: 250; at most 500. A walk stores at most 250 columns. */
  readonly columnsMax?: number;
}

export type GetWidthMapRequestMeasure =
  /** How many partitions a cell has. */
  | "PARTITIONS"
  /** Their bytes of events, together. */
  | "BYTES"
  /** Their events, together. */
  | "EVENTS";

/** The partitions of a slice in a grid: time buckets across, sizes or hashes of ids down. */
export interface WidthMap {
  readonly timeSlice: string;
  /** Of the slice: the first column begins at the start. */
  readonly start: string;
  readonly end: string;
  readonly rowsBy: WidthMapRows;
  readonly measure: GetWidthMapRequestMeasure;
  /** 0 if the slice has no map yet. */
  readonly columnCount: number;
  readonly timeBucketsPerColumn: number;
  readonly secondsPerColumn: number;
  /** From the smallest to the largest; at most 100. */
  readonly rows: readonly WidthMapRow[];
  /** Row by row, without the empty ones. */
  readonly cells: readonly WidthMapCell[];
  /** The size that a partition should have: the namespace's tuning. */
  readonly densityMinBytes: string;
  readonly densityMaxBytes: string;
  /** Above it a partition is wide: widePartition.bytesMax. */
  readonly limitBytes: string;
  /** Of the whole slice, as the walk found it. */
  readonly partitions: string;
  readonly bytes: string;
  readonly events: string;
  /** Partitions above the limit, as ListPartitions has them; at least so many if over_limit_more. */
  readonly overLimit: string;
  readonly overLimitMore: boolean;
  /** How many of them have a completed split. */
  readonly overLimitSplit: string;
  /** The shares of the partitions below and above the target, from 0 to 1. */
  readonly belowTarget: number;
  readonly aboveTarget: number;
  /** What is wrong, or how to get a map, in plain words. */
  readonly sentence: string;
  /** When the walk began and ended. Not given if the slice has no map yet. */
  readonly asOf?: string;
  readonly endTime?: string;
  /** Where the map comes from: a walk over the partitions. */
  readonly source: string;
  /** Whether the slice could no longer change when the walk began. */
  readonly sealed: boolean;
  /** Whether the walk reached the end of the slice. */
  readonly complete: boolean;
  /** The share of the ids whose partitions were counted; below 1 the map is a sample's. */
  readonly sampleShare: number;
  /** What the map leaves out. */
  readonly excludes: readonly string[];
}

export type WidthMapRows =
  /** By size: each bound is 1.41 times the one before. */
  | "SIZE"
  /**
   * By hash of the id, which divides the ids evenly into 64 rows: all partitions of an id are in
   * one row.
   */
  | "ID_HASH";

/** A row of sizes in bytes, or of fractions of hashes from 0 to 1. */
export interface WidthMapRow {
  /** Excluded for sizes, included for hashes. */
  readonly from: number;
  /** Included for sizes, excluded for hashes. Not given: everything larger. */
  readonly upTo?: number;
}

/** How many splits of a cell are in one state. */
export interface WidthMapSplitCount {
  readonly state: SplitState;
  readonly count: number;
}

/** A cell that holds partitions or splits. Where a sample of the ids was counted, it stands for all. */
export interface WidthMapCell {
  readonly column: number;
  /** The place in `rows` of the map. */
  readonly row: number;
  /** In the unit of `measure`. */
  readonly value: string;
  readonly partitions: string;
  /** Of the largest partition. */
  readonly largestBytes: string;
  /** Of the partitions that have a split now. */
  readonly splits: readonly WidthMapSplitCount[];
}
