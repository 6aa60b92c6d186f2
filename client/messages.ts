/** The messages of the API that programs use, under the names that programs use. */
import type {
  EventItem,
  EventRecord,
  ExplainReadResponse,
  GetHistogramResponse,
  GetMetricsHistoryRequest,
  GetSplitSummaryResponse,
  GetWidthMapRequest,
  Given,
  ListPartitionsRequest,
  ListDeadDetectionsResponse,
  ListPartitionsRequestOrderBy,
  ListPartitionsResponse,
  ListFiltersResponse,
  ListIdsResponse,
  ListServersResponse,
  ListSplitsResponse,
  ListTuningsResponse,
  MetricSeries as MetricSeriesJson,
  MetricsHistory as MetricsHistoryJson,
  NamespaceConfig,
  PauseSplitsResponse,
  PlanNamespaceRequest,
  PlanNamespaceResponse,
  ReadModeMode,
  ResumeSplitsResponse,
  SizeReportSource,
  SplitSeenLatency,
  WatchRequest,
  WatchRequestTopic,
  WriteEventRecordsResponse,
  Workload,
  WriteEventRecordsSyncResponse,
} from "./generated/messages.ts";

export type {
  BlockedId,
  DeadDetection,
  DeadDetectionAction,
  DeadDetectionsAnswer,
  DeletedNamespace,
  DiskStatus,
  EventFailure,
  ExplainedPartition,
  KillSwitch,
  Namespace,
  NamespaceConfig,
  Partition,
  PartitionPlan,
  ProvisionedPlan,
  QueueStatus,
  ReadMode,
  Remedy,
  ResponseContext,
  ClockStatus,
  ServerProcess,
  ServerStatus,
  SizedPartition,
  SliceFilter,
  SizeReport,
  SliceHistogram,
  Split,
  SplitMove,
  SplitPart,
  SplitProgress,
  SplitSegment,
  SplitState,
  SplitSummary,
  SplitsPause,
  TimePartition,
  TimeSlice,
  Tuning,
  Verification,
  WidthMap,
  WidthMapCell,
  WidthMapRow,
} from "./generated/messages.ts";

/** A field that is left out keeps its value, or takes its default. */
export type NamespaceChange = Given<NamespaceConfig>;
/** A field that is left out is assumed; the answer says what. */
export type WorkloadDescription = Given<Workload>;
export type NamespacePlan = PlanNamespaceResponse;

/** An event in proto3 JSON, as the API has it. */
export type EventRecordJson = EventRecord;
export type EventItemJson = EventItem;
export type WriteSyncResult = WriteEventRecordsSyncResponse;
export type WriteResult = WriteEventRecordsResponse;
export type ExplainedRead = ExplainReadResponse;
export type PartitionHistogram = GetHistogramResponse;
export type PartitionPage = ListPartitionsResponse;
export type PartitionOrder = ListPartitionsRequestOrderBy;
/** Which partitions to list; all that are known if nothing is given. */
export type PartitionFilter = Omit<
  ListPartitionsRequest,
  "namespace" | "timeSlice" | "orderBy" | "pageSize" | "pageToken"
>;
/** What `getWidthMap` shows, and how. */
export type WidthMapChoices = Omit<GetWidthMapRequest, "namespace" | "timeSlice">;
export type SizeSource = SizeReportSource;
export type ReadModeName = ReadModeMode;
export type SeenLatency = SplitSeenLatency;
export type PauseAnswer = PauseSplitsResponse;
export type ResumeAnswer = ResumeSplitsResponse;
export type ServerList = ListServersResponse;
export type IdPage = ListIdsResponse;
export type FilterPage = ListFiltersResponse;
export type DeadDetectionPage = ListDeadDetectionsResponse;
export type SplitPage = ListSplitsResponse;
export type SplitSummaryPage = GetSplitSummaryResponse;
export type TuningList = ListTuningsResponse;
/** What `planNamespace` takes besides the workload. */
export type PlanChoices = Omit<PlanNamespaceRequest, "workload">;
/** What `getMetricsHistory` takes. */
export type MetricsHistoryChoices = Omit<GetMetricsHistoryRequest, "since"> & {
  readonly since?: Date | string;
};
/** One figure over time; null where there is no value. */
export interface MetricSeries extends Omit<MetricSeriesJson, "values"> {
  readonly values: readonly (number | null)[];
}
export interface MetricsHistory extends Omit<MetricsHistoryJson, "series"> {
  readonly series: readonly MetricSeries[];
}
/** What can be watched. */
export type WatchTopic = WatchRequestTopic;
/** What `watch` takes: at least one topic. */
export type WatchQuery = WatchRequest & { readonly topics: readonly WatchTopic[] };
