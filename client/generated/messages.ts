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

/** Namespaces, their time slices, the ids that are refused, and the splits of wide partitions. */
export interface ControlServiceMethods {
  /** Makes a namespace; when it answers, events can be written. */
  readonly CreateNamespace: { request: CreateNamespaceRequest; answer: Namespace };
  /** One namespace with its whole configuration. */
  readonly GetNamespace: { request: GetNamespaceRequest; answer: Namespace };
  /** All namespaces by name, page by page. */
  readonly ListNamespaces: { request: ListNamespacesRequest; answer: ListNamespacesResponse };
  /** Changes what is given and keeps the rest. A new strategy applies to slices not yet made. */
  readonly UpdateNamespace: { request: UpdateNamespaceRequest; answer: Namespace };
  /** Deletes a namespace with all its events. Cannot be undone. */
  readonly DeleteNamespace: { request: DeleteNamespaceRequest; answer: DeleteNamespaceResponse };
  /** The slices of a namespace by start, with their sizes. */
  readonly ListTimeSlices: { request: ListTimeSlicesRequest; answer: ListTimeSlicesResponse };
  /** Refuses reads and writes of these ids, until they expire or are unblocked. */
  readonly BlockIds: { request: BlockIdsRequest; answer: BlockIdsResponse };
  /** Lets ids be read and written again. */
  readonly UnblockIds: { request: UnblockIdsRequest; answer: UnblockIdsResponse };
  /** The ids that are refused now, those of the configuration file included. */
  readonly ListBlockedIds: { request: ListBlockedIdsRequest; answer: ListBlockedIdsResponse };
  /** How large the partitions of a slice are, by the best source that knows, and what the others say. */
  readonly GetHistogram: { request: GetHistogramRequest; answer: GetHistogramResponse };
  /** The splits of one namespace or of all, page by page, without their parts. */
  readonly ListSplits: { request: ListSplitsRequest; answer: ListSplitsResponse };
  /** One split with its parts, sizes and latencies before and after, and its history. */
  readonly GetSplit: { request: GetSplitRequest; answer: Split };
  /** Does by hand what a detection does. One that is there already is looked at again. */
  readonly RequestSplit: { request: RequestSplitRequest; answer: Split };
  /** Lets a split that failed, was refused, parked or rolled back be planned anew. */
  readonly RetrySplit: { request: RetrySplitRequest; answer: Split };
  /** Goes back to the original, on every server within BRAID_VIEW_MAX_AGE, until RetrySplit. */
  readonly RollbackSplit: { request: RollbackSplitRequest; answer: Split };
  /** Stops all work on the splits of a namespace. Those that are completed stay in use. */
  readonly PauseSplits: { request: PauseSplitsRequest; answer: PauseSplitsResponse };
  /** Lets the work on a namespace's splits go on. */
  readonly ResumeSplits: { request: ResumeSplitsRequest; answer: ResumeSplitsResponse };
  /** Begins to compare splits with their originals, event by event, and answers at once. */
  readonly StartVerify: { request: StartVerifyRequest; answer: StartVerifyResponse };
  /** How far a comparison has come, and what it found. */
  readonly GetVerify: { request: GetVerifyRequest; answer: Verification };
  /** How far the reads of a namespace trust its splits, on what evidence, and what stands in the way of more. */
  readonly GetReadMode: { request: GetReadModeRequest; answer: ReadMode };
  /** Sets the read mode. Without force only where the evidence allows it. */
  readonly SetReadMode: { request: SetReadModeRequest; answer: ReadMode };
  /** Whether all splits are turned off. */
  readonly GetKillSwitch: { request: GetKillSwitchRequest; answer: KillSwitch };
  /**
   * Turns all splits of all namespaces off, on every server within BRAID_VIEW_MAX_AGE, or on again.
   * If it is so already nothing changes, and the answer says who set it first, when and why.
   */
  readonly SetKillSwitch: { request: SetKillSwitchRequest; answer: KillSwitch };
  /** The server that answers: its version and engine, what is switched off or paused, how many splits there are. */
  readonly GetStatus: { request: GetStatusRequest; answer: ServerStatus };
}

/** How events of one slice are laid out over partitions. Frozen when the slice is made. */
export interface TimePartition {
  readonly secondsPerTimeSlice: number;
  /** Divides the slice. */
  readonly secondsPerTimeBucket: number;
  /** Partitions a time bucket is spread over, by hash of the event id. */
  readonly eventBuckets: number;
}

/** Everything that is set per namespace. In a request, what is left out keeps its value or its default. */
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
  /** From here on a slice is neither read nor written. It can be opened again. */
  readonly closeAfter: string;
  /** From here on it is gone, with its disk space. */
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

export interface NamespaceConfigWidePartition {
  /** Whether reads report wide partitions. */
  readonly detect: boolean;
  /** A read that saw more of one partition reports it: 10 MiB, or 100,000 events, by default. */
  readonly bytesMax: string;
  readonly eventsMax: string;
  /** Of a part: 8 MiB by default, at most bytes_max. */
  readonly targetBytes: string;
  /** Of one partition: 4,096 by default. Beyond it parts grow. */
  readonly maxParts: number;
  /** PACKED by default. */
  readonly layout: NamespaceConfigWidePartitionLayout;
  /** AUTO (the default), EVENT_BUCKETS, TIME_BUCKETS or HASH. */
  readonly strategy: string;
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

export interface Namespace {
  readonly namespace: string;
  /** Made anew with each namespace, also under an old name. */
  readonly id: string;
  readonly config: NamespaceConfig;
  /** Raised by every change that opens sealed time again. */
  readonly epoch: string;
  readonly createTime: string;
  /** Raised by every change. */
  readonly version: string;
  /** How far reads trust splits; GetReadMode tells more. */
  readonly readMode: ReadModeMode;
  /** Whether work on splits is paused. */
  readonly splitsPaused: boolean;
  /** Since when, by whom and why, if it is. */
  readonly splitsPause?: SplitsPause;
}

export interface CreateNamespaceRequest {
  readonly namespace?: string;
  readonly config?: Given<NamespaceConfig>;
}

export interface GetNamespaceRequest {
  readonly namespace?: string;
}

export interface ListNamespacesRequest {
  /** At most 1,000; 100 if not given. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface ListNamespacesResponse {
  readonly namespaces: readonly Namespace[];
  readonly nextPageToken: string;
}

export interface UpdateNamespaceRequest {
  readonly namespace?: string;
  /** Only what changes, merged field by field. */
  readonly config?: Given<NamespaceConfig>;
  /** Fields that go back to their default, for instance "slos.read". */
  readonly reset?: readonly string[];
}

export interface DeleteNamespaceRequest {
  readonly namespace?: string;
}

export type DeleteNamespaceResponse = Readonly<Record<string, never>>;

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
  /** On disk, about. */
  readonly bytes: string;
  /** Written, repeats included. */
  readonly events: string;
}

export type TimeSliceStatus =
  /** Begins in the future. */
  | "UPCOMING"
  /** Takes events. */
  | "ACTIVE"
  /** Can no longer change. */
  | "SEALED"
  /** Neither read nor written; can be opened again. */
  | "CLOSED"
  /** Gone for good. */
  | "DROPPED";

export interface BlockedId {
  readonly timeSeriesId: string;
  readonly reason: string;
  /** Never, if not given. */
  readonly expireTime?: string;
  /** Set by the server. */
  readonly blockTime: string;
  /** Set by the server. */
  readonly source: BlockedIdSource;
}

export type BlockedIdSource =
  /** By this API. */
  | "API"
  /** From the configuration file; goes away only by changing it. */
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
  /** How many of them were blocked by this API and no longer are. */
  readonly unblocked: number;
}

export interface ListBlockedIdsRequest {
  readonly namespace?: string;
  /** At most 1,000; 100 if not given. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface ListBlockedIdsResponse {
  readonly ids: readonly BlockedId[];
  readonly nextPageToken: string;
}

export interface GetHistogramRequest {
  readonly namespace?: string;
  /** The slice that takes events now, if not given. */
  readonly timeSlice?: string;
}

export interface GetHistogramResponse {
  /** Partitions, about. */
  readonly count: string;
  /** From the smallest to the largest that has partitions. None if the source cannot tell. */
  readonly buckets: readonly GetHistogramResponseBucket[];
  /** In bytes, as are the sizes below. Not given if the source cannot tell. */
  readonly p50?: string;
  readonly p99?: string;
  readonly max: string;
  readonly source: SizeReportSource;
  readonly timeSlice: string;
  readonly mean: string;
  /** When the source was asked. */
  readonly asOf: string;
  /** How much of the whole the source has seen. */
  readonly coverage: string;
  readonly tells: string;
  readonly doesNotTell: string;
  /** What the other sources say, or why they say nothing. */
  readonly alternatives: readonly SizeReport[];
}

export interface GetHistogramResponseBucket {
  /** Larger than the bucket before, and at most this. */
  readonly upToBytes: string;
  readonly partitions: string;
}

export interface SizeReport {
  readonly source: SizeReportSource;
  /** Why this source could not be asked. Then nothing below is given. */
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
  /** What the server that was asked has read: bytes of events. */
  | "READS"
  /** Cassandra's own estimates, over CQL. */
  | "TABLE_ESTIMATES"
  /** Cassandra's histogram of what its data files hold, through Jolokia. */
  | "JMX";

/**
 * One immutable event of a time series. Its identity is (event_time, event_id).
 *
 * This very encoding, fields in order and each at most once, is what is stored and what is answered:
 * field numbers are on disk. Never change or reuse one.
 */
export interface EventRecord {
  /** Whose event this is: a profile, a device, a video. 1 to 512 bytes of UTF-8. */
  readonly timeSeriesId: string;
  /** When it happened, in whole microseconds. A finer time is an error, not a rounding. */
  readonly eventTime: string;
  /** Tells apart the events of one microsecond. 1 to 256 bytes of UTF-8. */
  readonly eventId: string;
  /** What is known of it: at most 256 items, each key once. */
  readonly eventItems: readonly EventItem[];
}

/** One key and value of an event. */
export interface EventItem {
  /** 1 to 256 bytes of UTF-8, unique in its event. */
  readonly eventItemKey: string;
  /** Any bytes; never looked into. */
  readonly eventItemValue: string;
}

/** A half-open stretch of event time: start belongs to it, end does not. Both are required. */
export interface TimeInterval {
  readonly start: string;
  readonly end: string;
}

/** Keeps the events that have an item of this key with exactly this value. */
export interface EventFilter {
  readonly matchEventItemKey: string;
  readonly matchEventItemValue: string;
}

/** What answering cost, and whether the answer is whole. */
export interface ResponseContext {
  readonly namespace: string;
  readonly timeTaken: string;
  /** How many partitions were looked into. */
  readonly partitionsRead: number;
  /** How many of them were served from a split. */
  readonly splitPartitionsRead: number;
  /** Bytes of the events examined, filtered ones included. */
  readonly bytesRead: string;
  /** True if the read stopped at its latency limit; the page token goes on from there. */
  readonly partial: boolean;
  /** Why, if partial. */
  readonly partialReason: string;
}

/** How far the reads of a namespace trust its splits, and what is known about that. */
export interface ReadMode {
  readonly mode: ReadModeMode;
  /** Since it is in this mode. */
  readonly evidence: readonly ReadModeEvidence[];
  /** Not given at the last. */
  readonly nextMode?: ReadModeMode;
  /** Why it has not advanced yet; empty if nothing is in the way. */
  readonly blockedBy: string;
  /** Whether evidence moves it on. */
  readonly autoAdvance: boolean;
  /** When this mode began. */
  readonly since: string;
  /** The process, or the operator as claimed, that set it; and why. */
  readonly by: string;
  readonly reason: string;
  /** While it is on, reads use no split, whatever the mode. */
  readonly killSwitch: KillSwitch;
  /** Not given unless the namespace's splits are paused. Those that are completed stay in use. */
  readonly splitsPause?: SplitsPause;
}

export type ReadModeMode =
  /** Originals are served. */
  | "OFF"
  /**
   * Originals are served. A server's first reads of each split are compared byte for byte, then a sample by counts
   * and bytes.
   */
  | "SHADOW"
  /** Originals are served; every read is compared byte for byte. */
  | "COMPARE"
  /** Splits are served; a sample is compared. */
  | "SERVE";

/** What was compared in this mode, for one kind of split. */
export interface ReadModeEvidence {
  readonly layout: string;
  readonly strategy: string;
  readonly readsCompared: string;
  readonly bytesMatched: string;
  readonly bytesDiffered: string;
  readonly since: string;
}

export interface GetReadModeRequest {
  readonly namespace?: string;
}

export interface SetReadModeRequest {
  readonly namespace?: string;
  readonly mode?: ReadModeMode;
  /** Whatever the evidence says. */
  readonly force?: boolean;
  /** As it was if not given. */
  readonly autoAdvance?: boolean;
  /** Recorded with the change; at most 1,024 characters. */
  readonly reason?: string;
}

/** One partition of a namespace, as people name it. */
export interface Partition {
  /** Such as data_20260328. */
  readonly timeSlice: string;
  readonly timeSeriesId: string;
  /** Counted from 0 at the start of the slice. */
  readonly timeBucket: number;
  readonly eventBucket: number;
}

/** The copy of a wide partition's sealed time into small parts, and how far it has come. The original stays. */
export interface Split {
  readonly preSplitData: SplitPreSplitData;
  /** By time, without a gap from the start of the partition's bucket. Only the newest can be unfinished. */
  readonly segments: readonly SplitSegment[];
  /** Of the newest segment. */
  readonly state: SplitState;
  /** Of the namespace when it was made. */
  readonly epoch: string;
  readonly latency: SplitLatency;
  /** Oldest first; of a long one the middle is left out. */
  readonly history: readonly SplitMove[];
  readonly namespace: string;
  /** Why it is in this state. */
  readonly reason: string;
  readonly detectTime: string;
  /** When it is looked at again; not given if nothing is left to do unless somebody asks. */
  readonly dueTime?: string;
  /** Who works on it; empty if nobody does. */
  readonly owner: string;
  /** Differences between copy and original in a row. After three only RetrySplit goes on. */
  readonly failures: number;
  /** Whether it is held: only RetrySplit goes on. */
  readonly held: boolean;
  /** By whom: an operator, or Braid itself where it differs from its original. */
  readonly heldBy: string;
  /** Whether the partition could no longer change when it was detected. */
  readonly immutable: boolean;
  /** Raised by every change. */
  readonly version: string;
  /** A short hash of the namespace and the partition. Every method that takes a partition takes it instead. */
  readonly splitId: string;
  /** The event time of the partition's time bucket, start included, end not. Not given if its slice is gone. */
  readonly bucketStart?: string;
  readonly bucketEnd?: string;
}

export type SplitState =
  /** A read, or an operator, has named it. */
  | "DETECTED"
  /** A worker has it and looks at what there is to copy. */
  | "PLANNING"
  /** What is copied, and how, is fixed. */
  | "PLANNED"
  /** Parts are being written. */
  | "SPLITTING"
  /** What was written is read back and compared. */
  | "VALIDATING"
  /** The copy is equal. It is served once it is confirmed too, and the read mode allows it. */
  | "COMPLETED"
  /** Cannot go on now; looked at again at due_time. */
  | "PARKED"
  /** Should not be split, for the reason given. */
  | "REFUSED"
  /** Copy and original differed. */
  | "FAILED"
  /** Its time was opened again, an operator rolled it back, or it was found to differ from its original. */
  | "INVALIDATED";

/** The wide partition as it is. */
export interface SplitPreSplitData {
  readonly timeSlice: string;
  readonly timeSeriesId: string;
  readonly timeBucket: number;
  readonly eventBucket: number;
  /** At least so many: what the detection saw, or what was copied if that is more. */
  readonly bytes: string;
  readonly events: string;
  /** Of what was copied, taken while the original was read: the segments' checksums, joined by "+". */
  readonly checksum: string;
}

/** Which event buckets of the split table hold the parts. */
export interface SplitEventBucketPartitionStrategy {
  /** How many parts there are. */
  readonly targetEventBuckets: number;
  /** That of the first part. The others are in parts: their numbers need not follow on each other. */
  readonly startEventBucket: number;
}

/** A part that was written whole. */
export interface SplitPart {
  /** Its event bucket in the split table. */
  readonly eventBucket: number;
  /** The event time it covers, from included, to not. */
  readonly from: string;
  readonly to: string;
  readonly bytes: string;
  readonly events: string;
}

/** The copy of one segment. */
export interface SplitPostSplitData {
  /** The split table, such as wide_data_20260328_0. */
  readonly timeSlice: string;
  readonly layout: SplitPostSplitDataLayout;
  /** EVENT_BUCKETS, TIME_BUCKETS or HASH. */
  readonly strategy: string;
  readonly eventBucketPartitionStrategy: SplitEventBucketPartitionStrategy;
  /** In the order they were written, newest time first. ListSplits leaves them out. */
  readonly parts: readonly SplitPart[];
  /** Of the parts written so far. */
  readonly bytes: string;
  readonly events: string;
  /** Empty until all parts are written. */
  readonly checksum: string;
}

export type SplitPostSplitDataLayout =
  /** Blocks of many events. */
  | "PACKED"
  /** A row an event. */
  | "ROWS";

/** A stretch of the partition's time that is copied, proven and served as one. */
export interface SplitSegment {
  /** The event time it covers, from included, to not: fixed before anything is copied. */
  readonly from: string;
  readonly to: string;
  readonly state: SplitState;
  /** Of the partition's copies; one that is begun anew has the next. */
  readonly generation: string;
  readonly postSplitData: SplitPostSplitData;
  /** Why it is split, and why so. */
  readonly why: string;
  /** The checkpoint: everything from here to the end of the segment is in parts that are written. */
  readonly copiedTo: string;
  /** Whether a second, separate read of the original agreed. Nobody is served before that. */
  readonly confirmed: boolean;
  /** When it did. */
  readonly confirmTime?: string;
  /** A part is closed when it holds so many bytes. */
  readonly partBytes: string;
}

/** Latencies of pages of this partition that a worker has read to measure them; 0 where none was. */
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

export interface SplitMove {
  readonly at: string;
  /** The process, or the operator as the request's braid-operator header claims. */
  readonly by: string;
  /** Not given for the first. */
  readonly from?: SplitState;
  readonly to: SplitState;
  /** For people. */
  readonly reason: string;
  /** For programs: one word of a fixed list, which docs/operate/splits.md explains. */
  readonly cause: string;
  /** How often in a row it ended so. A repeat takes the place of the one before it. */
  readonly times: number;
}

export interface ListSplitsRequest {
  /** All namespaces, in order of their names, if empty. */
  readonly namespace?: string;
  /** Only those in this state; all if not given. */
  readonly state?: SplitState;
  /** At most 1,000; 100 if not given. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface ListSplitsResponse {
  readonly splits: readonly Split[];
  /** Empty at the end. A page may be short, even empty, and still have one. */
  readonly nextPageToken: string;
  /** While it is on, reads use no split. */
  readonly killSwitch: KillSwitch;
  /** The namespaces of this page whose splits are paused. */
  readonly paused: readonly SplitsPause[];
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
  /** For the history; at most 1,024 characters. */
  readonly reason?: string;
  /** Instead of partition. Only of a split that has a record. */
  readonly splitId?: string;
  /** Splits a partition that is not wide too. */
  readonly force?: boolean;
}

export interface RetrySplitRequest {
  readonly namespace?: string;
  readonly partition?: Given<Partition>;
  /** For the history; at most 1,024 characters. */
  readonly reason?: string;
  /** Instead of partition. */
  readonly splitId?: string;
}

export interface RollbackSplitRequest {
  readonly namespace?: string;
  readonly partition?: Given<Partition>;
  /** For the history; at most 1,024 characters. */
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
  /** The pause in force: a repeat keeps the first one's time, operator and reason. */
  readonly pause: SplitsPause;
  /** Whether they were paused already. */
  readonly wasPaused: boolean;
}

export interface ResumeSplitsRequest {
  readonly namespace?: string;
  /** Not kept. At most 1,024 characters. */
  readonly reason?: string;
}

export interface ResumeSplitsResponse {
  /** False if nothing was paused. */
  readonly wasPaused: boolean;
}

export type GetStatusRequest = Readonly<Record<string, never>>;

/** The server that answers, and what it knows of the whole. */
export interface ServerStatus {
  /** Of the program, such as 0.1.0. */
  readonly version: string;
  /** The commit it was built from, or "source" in a clone. */
  readonly build: string;
  /** Of Node.js, such as v24.1.0. */
  readonly nodeVersion: string;
  /** embedded or cassandra. */
  readonly engine: string;
  /** embedded or kafka. */
  readonly queue: string;
  /** The name of this process, as histories show it. */
  readonly process: string;
  readonly startTime: string;
  readonly uptime: string;
  /** Whether it serves; if not, not_ready says why. */
  readonly ready: boolean;
  readonly notReady: string;
  readonly killSwitch: KillSwitch;
  /** The namespaces whose splits are paused, by name; the first 100. */
  readonly paused: readonly SplitsPause[];
  /** Namespaces this server has a view of. */
  readonly namespaces: number;
  /** The age of the oldest view this server has of a namespace, and the age from which it refuses to act on one. */
  readonly oldestViewAge: string;
  readonly viewMaxAge: string;
  /** Of all namespaces together, every state once; none before the first count. */
  readonly splits: readonly ServerStatusSplitCount[];
  /** When they were counted: once a minute, by one process for all. */
  readonly splitsTime?: string;
  /** This server's clock when it answered. */
  readonly serverTime: string;
}

/** How many splits are in a state. */
export interface ServerStatusSplitCount {
  readonly state: SplitState;
  readonly count: string;
}

/** While it is on, every read of every namespace is served from originals. */
export interface KillSwitch {
  readonly on: boolean;
  /** When it was set so; not given if never. */
  readonly setTime?: string;
  /** The operator who set it, as the request's braid-operator header claims. */
  readonly by: string;
  readonly reason: string;
  /** Only in the answer of SetKillSwitch: it was so already, and the first request's time, operator and reason stay. */
  readonly unchanged: boolean;
}

export type GetKillSwitchRequest = Readonly<Record<string, never>>;

export interface SetKillSwitchRequest {
  readonly on?: boolean;
  /** Recorded with the change; at most 1,024 characters. */
  readonly reason?: string;
}

/** Work on the splits of a namespace is paused. */
export interface SplitsPause {
  readonly since: string;
  /** The operator who paused it, as the request's braid-operator header claims. */
  readonly by: string;
  readonly reason: string;
  readonly namespace: string;
}

/** Writing and reading events. */
export interface TimeSeriesServiceMethods {
  /** Writes a batch and answers when it is durable, with a reason for each event that failed. */
  readonly WriteEventRecordsSync: { request: WriteEventRecordsSyncRequest; answer: WriteEventRecordsSyncResponse };
  /** Queues a batch and answers on receipt. What is queued and not yet flushed is lost in a crash. */
  readonly WriteEventRecords: { request: WriteEventRecordsRequest; answer: WriteEventRecordsResponse };
  /** Reads one page of a time series. */
  readonly ReadEventRecords: { request: ReadEventRecordsRequest; answer: ReadEventRecordsResponse };
  /** Reads a whole interval of a time series, page after page. */
  readonly StreamEventRecords: { request: ReadEventRecordsRequest; answer: ReadEventRecordsResponse };
  /**
   * Reads one page and tells how it was served, partition by partition, instead of what it found. With
   * total_record_limit and without page_size it reads page after page, up to that limit.
   */
  readonly ExplainRead: { request: ReadEventRecordsRequest; answer: ExplainReadResponse };
}

/** A batch of events, of any time series and times of one namespace. */
export interface WriteEventRecordsSyncRequest {
  readonly namespace?: string;
  readonly events?: readonly Given<EventRecord>[];
}

/** The same batch, to be queued. */
export interface WriteEventRecordsRequest {
  readonly namespace?: string;
  readonly events?: readonly Given<EventRecord>[];
}

/** Why one event of a batch was not written. The others are not affected. */
export interface EventFailure {
  /** Its place in the request, from 0. */
  readonly index: number;
  /** EVENT_TOO_OLD, EVENT_TOO_NEW, EVENT_TOO_LARGE, EVENT_INVALID, ID_BLOCKED, OVERLOADED or OUTCOME_UNKNOWN. */
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
  /** All of them must match. */
  readonly eventFilters?: readonly Given<EventFilter>[];
  /** Newest first if not given. */
  readonly order?: ReadEventRecordsRequestOrder;
  /** Events a page, at most 10,000; 100 if not given (a stream: as many as fit). */
  readonly pageSize?: number;
  /** Events over all pages; no limit if not given. */
  readonly totalRecordLimit?: string;
  /** From the page before; empty for the first. */
  readonly pageToken?: string;
  /** Stop at the namespace's slos.read.max and return what there is so far, in order. */
  readonly allowPartial?: boolean;
}

/** By (event_time, event_id); the one order is the exact reverse of the other. */
export type ReadEventRecordsRequestOrder =
  | "NEWEST_FIRST"
  | "OLDEST_FIRST";

export interface ReadEventRecordsResponse {
  readonly records: readonly EventRecord[];
  /** Empty at the end. A page may be short, even empty, and still have one. */
  readonly nextPageToken: string;
  readonly responseContext: readonly ResponseContext[];
}

/** How a read was served. */
export interface ExplainReadResponse {
  readonly slices: readonly ExplainedSlice[];
  /** The partitions in the order they were read, then those the page did not reach, 1,000 at most. */
  readonly partitions: readonly ExplainedPartition[];
  readonly totals: ExplainedTotals;
}

export interface ExplainedSlice {
  readonly timeSlice: string;
  /** How many of its time buckets the interval touches. */
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
  /** False if the page was full, or out of time, before this partition's turn. */
  readonly read: boolean;
}

/** Where the partition's events came from. */
export type ExplainedPartitionRoute =
  /** The filter of the slice says that the partition is not split. */
  | "ORIGINAL_FILTER_MISS"
  | "ORIGINAL_NOT_SPLIT"
  /** There is a split, but it was given up or not trusted: `why` says what is wrong. */
  | "ORIGINAL_FALLBACK"
  | "SPLIT"
  | "SPLIT_AND_ORIGINAL"
  /**
   * There is a split, but it is not served yet or any more: read mode, kill switch, first comparison,
   * not confirmed yet, or rolled back. `why` says which.
   */
  | "ORIGINAL_HELD";

export interface ExplainedTotals {
  /** Partitions the whole interval touches. */
  readonly partitions: string;
  readonly partitionsRead: number;
  readonly bytes: string;
  readonly events: string;
  readonly eventsReturned: string;
  readonly millis: number;
}

/** What to compare: one partition, by name or by split_id, a whole slice, or all slices if none is given. */
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

/** A comparison of splits with their originals, event by event, and how far it has come. */
export interface Verification {
  readonly state: VerificationState;
  readonly eventsCompared: string;
  readonly bytesCompared: string;
  /** The first of them; differences_found counts all. */
  readonly differences: readonly VerificationDifference[];
  readonly differencesFound: string;
  readonly verifyId: string;
  readonly namespace: string;
  readonly splitsDone: string;
  /** As far as they are known. */
  readonly splitsTotal: string;
  readonly startTime: string;
  /** Not given while it is running. */
  readonly endTime?: string;
  /** Why it failed, or what it could not compare. */
  readonly reason: string;
}

export type VerificationState =
  | "RUNNING"
  /** All was compared. Whether it was equal is for differences_found to say. */
  | "DONE"
  /**
   * It could not go on, for the reason given. StartVerify within an hour goes on from there, unless it found
   * differences.
   */
  | "FAILED"
  /** Not used: one whose process has stopped stays RUNNING, and another goes on with it. */
  | "STOPPED";

export interface VerificationDifference {
  readonly partition: Partition;
  /** Such as "only in original", "only in split", "other bytes", "out of order", "damaged split". */
  readonly kind: string;
  readonly eventTime: string;
  readonly eventId: string;
  readonly detail: string;
}
