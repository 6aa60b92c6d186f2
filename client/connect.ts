/**
 * The client: `connect`, and everything a program does through it.
 *
 * It runs in programs, in the CLI and in browsers: over `node:http` where there is one, else over
 * `fetch`.
 */
import { BatchingWriter } from "./batching-writer.ts";
import type { WriterOptions } from "./batching-writer.ts";
import { EventsFailedError } from "./braid-error.ts";
import type { Body, Codec } from "./codec.ts";
import { timeText } from "./events.ts";
import type { JsonEvent, NewEvent } from "./events.ts";
import type { ControlServiceMethods } from "./generated/messages.ts";
import type {
  BlockedId,
  DeletedNamespace,
  EventFailure,
  ExplainedRead,
  FilterPage,
  IdPage,
  Namespace,
  NamespaceChange,
  NamespacePlan,
  PartitionHistogram,
  MetricsHistory,
  MetricsHistoryChoices,
  PlanChoices,
  PartitionFilter,
  PartitionOrder,
  PartitionPage,
  ClockStatus,
  Remedy,
  ServerList,
  ServerStatus,
  TimeSlice,
  Tuning,
  TuningList,
  WatchQuery,
  WidthMap,
  WidthMapChoices,
  WorkloadDescription,
  WriteResult,
  WriteSyncResult,
} from "./messages.ts";
import { systemTiming } from "./timing.ts";
import type { Timing } from "./timing.ts";
import { EventReading, readPages, streamPages } from "./event-reading.ts";
import type { ReadQuery } from "./read-query.ts";
import { fetchHttp } from "./fetch-http.ts";
import { answerJson, jsonCodec, readRequest } from "./json-codec.ts";
import { withGaps } from "./metrics.ts";
import { nodeHttp } from "./node-http.ts";
import { DEFAULT_RETRIES, Retries } from "./retries.ts";
import type { RetryLimits } from "./retries.ts";
import { QueueCalls } from "./queue-calls.ts";
import { SplitCalls } from "./split-calls.ts";
import type { ControlCall } from "./split-calls.ts";
import { Transport } from "./transport.ts";
import type { CallOptions } from "./call-options.ts";
import type { Effect, Method } from "./transport.ts";
import { watchUpdates } from "./watching.ts";
import type { WatchUpdate } from "./watching.ts";

export { BatchingWriter } from "./batching-writer.ts";
export type { WriteFailure, WriterOptions } from "./batching-writer.ts";
export { BraidError, EventsFailedError } from "./braid-error.ts";
export type { Outcome } from "./braid-error.ts";
export { ReceivedEvent, ReceivedItem } from "./received-event.ts";
export type { PlainEvent } from "./received-event.ts";
export type { ItemValue, JsonEvent, NewEvent } from "./events.ts";
export type * from "./messages.ts";
export type { Timing } from "./timing.ts";
export { EventReading } from "./event-reading.ts";
export type { EventPage, ReadQuery } from "./read-query.ts";
export type { RetryLimits } from "./retries.ts";
export { QueueCalls } from "./queue-calls.ts";
export type { DeadTarget } from "./queue-calls.ts";
export { SplitCalls } from "./split-calls.ts";
export type { OperatorOptions, SplitTarget, VerifyTarget } from "./split-calls.ts";
export type { CallOptions } from "./call-options.ts";
export type { WatchAway, WatchChange, WatchUpdate } from "./watching.ts";

export interface ConnectOptions {
  /** The longest wait for an answer, retries included. Default: 60,000. */
  readonly deadlineMs?: number;
  readonly retries?: Partial<RetryLimits>;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The operator's name, for example `ada@example.com`: 1 to 128 printable ASCII characters. Sent
   * with control calls; histories record it as claimed.
   */
  readonly operator?: string;
  /**
   * How events travel: `"binary"` is the Connect protocol with protobuf, `"json"` plain JSON, which
   * is slower and readable on the wire. Default: binary, and JSON for a server that does not know
   * it.
   */
  readonly protocol?: "binary" | "json";
  /** Sends every request. Default: `node:http` under Node, the global `fetch` elsewhere. */
  readonly fetch?: typeof fetch;
  readonly timing?: Timing;
}

/** A write throws an `EventsFailedError` when an event fails, unless `failures` is `"return"`. */
export interface WriteOptions extends CallOptions {
  readonly failures?: "throw" | "return";
}

export interface IdToBlock {
  readonly timeSeriesId: string;
  readonly reason?: string;
  /** When the block expires; never if not given. */
  readonly expireTime?: Date | string;
}

/** `connect("http://127.0.0.1:8420")`. Sends no request yet. */
export function connect(url: string, options: ConnectOptions = {}): BraidClient {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    throw new TypeError(`"${url}" is not an address such as http://127.0.0.1:8420`);
  }
  const { operator, timing = systemTiming } = options;
  if (operator !== undefined && !OPERATOR.test(operator)) {
    throw new TypeError("operator: give a name of 1 to 128 printable ASCII characters");
  }
  const { protocol = "auto" } = options;
  if (!PROTOCOLS.has(protocol)) throw new TypeError('protocol: give "binary" or "json"');
  const address = url.replace(/\/+$/, "");
  const given = options.fetch;
  const send =
    (given === undefined ? nodeHttp(address) : undefined) ??
    fetchHttp(address, given ?? ((input, init) => fetch(input, init)));
  const transport = new Transport({
    url: address,
    send,
    protocol,
    headers: options.headers ?? {},
    deadlineMs: options.deadlineMs ?? 60_000,
    retries: new Retries({ ...DEFAULT_RETRIES, ...options.retries }, timing),
    timing,
  });
  return new BraidClient(transport, operator === undefined ? {} : { "braid-operator": operator });
}

const PROTOCOLS = new Set(["auto", "binary", "json"]);

/** Fits a header; neither begins nor ends with a space, which servers would trim. */
const OPERATOR = /^[!-~](?:[ -~]{0,126}[!-~])?$/;

export class BraidClient {
  /** Splits of wide partitions, read modes, the kill switch and comparisons. */
  readonly splits: SplitCalls;
  /** The queue of detections and its dead letters. */
  readonly queue: QueueCalls;
  readonly #transport: Transport;
  readonly #controlHeaders: Readonly<Record<string, string>>;

  constructor(transport: Transport, controlHeaders: Readonly<Record<string, string>> = {}) {
    this.#transport = transport;
    this.#controlHeaders = controlHeaders;
    const call: ControlCall = (name, effect, request, options) =>
      this.#control(name, effect, request, options);
    this.splits = new SplitCalls(call);
    this.queue = new QueueCalls(call);
  }

  /** Resolves when the events are durable. Throws an `EventsFailedError` if some are not. */
  async writeSync(
    namespace: string,
    events: readonly NewEvent[],
    options: WriteOptions = {},
  ): Promise<WriteSyncResult> {
    const result = await this.#transport.inCodec((codec) => {
      const body = codec.encodeWrite(namespace, events);
      return this.#transport.call(WRITE_SYNC, codec, body, codec.decodeWriteSync, options);
    });
    if (options.failures !== "return") throwFailures(result.failures, result.written);
    return result;
  }

  /**
   * Resolves when the events are queued. A crash of the server loses queued events.
   * Throws an `EventsFailedError` if some are not queued.
   */
  async write(
    namespace: string,
    events: readonly NewEvent[],
    options: WriteOptions = {},
  ): Promise<WriteResult> {
    const result = await this.#transport.inCodec((codec) => {
      const body = codec.encodeWrite(namespace, events);
      return this.#transport.call(WRITE, codec, body, codec.decodeWrite, options);
    });
    if (options.failures !== "return") throwFailures(result.failures, result.accepted);
    return result;
  }

  /** For many events: collects them into batches and waits when the server cannot keep up. */
  batchingWriter<T extends NewEvent | JsonEvent>(
    namespace: string,
    options: WriterOptions<T> = {},
  ): BatchingWriter<T> {
    const method = options.queued === true ? WRITE : WRITE_SYNC;
    const { signal } = options;
    const transport = this.#transport;
    const send = (codec: Codec, body: Body): Promise<{ failures: readonly EventFailure[] }> =>
      transport.call(method, codec, body, codec.decodeWriteSync, { signal });
    return new BatchingWriter(namespace, transport, send, options);
  }

  /** Events of an interval, fetched page by page. For large intervals `stream` is faster. */
  read(namespace: string, query: ReadQuery): EventReading {
    return new EventReading(() => readPages(this.#transport, namespace, query));
  }

  /** Events of an interval over one request. */
  stream(namespace: string, query: ReadQuery): EventReading {
    return new EventReading(() => streamPages(this.#transport, namespace, query));
  }

  /** Explains how a read is served: slices, partitions, and the route of each. */
  async explain(namespace: string, query: ReadQuery): Promise<ExplainedRead> {
    const request = { ...readRequest(namespace, query), pageToken: query.pageToken ?? "" };
    const method = { path: `${DATA}/ExplainRead`, effect: "reads" } as const;
    return this.#call<ExplainedRead>(method, request, query);
  }

  /** The server that answers: its version, and what is switched off or paused. */
  async getStatus(options?: CallOptions): Promise<ServerStatus> {
    return this.#control("GetStatus", "reads", {}, options);
  }

  /** The servers and workers of the installation, as each announced itself last. */
  async listServers(options?: CallOptions): Promise<ServerList> {
    return this.#control("ListServers", "reads", {}, options);
  }

  /**
   * What the server that answers has kept of its own figures: the last day minute by minute, or
   * with `resolution: "SECOND"` the last ten minutes.
   */
  async getMetricsHistory(
    options: CallOptions & MetricsHistoryChoices = {},
  ): Promise<MetricsHistory> {
    const { resolution = "MINUTE", namespace = "", series = [], since } = options;
    const from = since === undefined ? {} : { since: timeText(since) };
    const request = { resolution, namespace, series, ...from };
    const history = await this.#control("GetMetricsHistory", "reads", request, options);
    return withGaps(history);
  }

  /**
   * What there is of some topics, and then every change, until the loop is left or the signal aborts.
   * It reconnects and resumes by itself; `kind: "away"` says that the server cannot be reached. An
   * error that does not pass, such as NAMESPACE_NOT_FOUND, ends it.
   */
  watch(
    query: WatchQuery & { readonly signal?: AbortSignal | undefined },
  ): AsyncGenerator<WatchUpdate, void, undefined> {
    return watchUpdates(this.#transport, { ...WATCH, headers: this.#controlHeaders }, query);
  }

  /**
   * The Bloom filters of the server that answers, page by page: `pageToken` is the `nextPageToken`
   * of the page before. Without a `namespace`, those of all.
   */
  async listFilters(
    options?: CallOptions & {
      readonly namespace?: string;
      readonly pageSize?: number;
      readonly pageToken?: string;
    },
  ): Promise<FilterPage> {
    const { namespace = "", pageSize = 0, pageToken = "" } = options ?? {};
    return this.#control("ListFilters", "reads", { namespace, pageSize, pageToken }, options);
  }

  /** Says that the clock of the server's machine is right: Braid believes it from now on. */
  async confirmClock(options?: CallOptions): Promise<ClockStatus> {
    return this.#control("ConfirmClock", "writes", {}, options);
  }

  /** With a `workload`, the server chooses the partitioning by simulation. */
  async createNamespace(
    namespace: string,
    config: NamespaceChange = {},
    options: CallOptions & { readonly workload?: WorkloadDescription } = {},
  ): Promise<Namespace> {
    const { workload } = options;
    const request = { namespace, config, ...(workload !== undefined && { workload }) };
    return this.#control("CreateNamespace", "writes once", request, options);
  }

  /** Chooses partitioning and machines for a workload by simulation. Creates nothing. */
  async planNamespace(
    workload: WorkloadDescription,
    options: CallOptions & PlanChoices = {},
  ): Promise<NamespacePlan> {
    const { seed, worlds, config, hardware } = options;
    const choices = {
      ...(seed !== undefined && { seed }),
      ...(worlds !== undefined && { worlds }),
      ...(config !== undefined && { config }),
      ...(hardware !== undefined && { hardware }),
    };
    return this.#control("PlanNamespace", "reads", { workload, ...choices }, options);
  }

  async getNamespace(namespace: string, options?: CallOptions): Promise<Namespace> {
    return this.#control("GetNamespace", "reads", { namespace }, options);
  }

  async *listNamespaces(options?: CallOptions): AsyncGenerator<Namespace, void, undefined> {
    const pages = this.#list("ListNamespaces", {}, options);
    for await (const page of pages) yield* page.namespaces;
  }

  /**
   * Changes the fields that are given; `reset` names fields that return to their default
   * (`"slos.read"`).
   */
  async updateNamespace(
    namespace: string,
    config: NamespaceChange,
    options: CallOptions & { readonly reset?: readonly string[] } = {},
  ): Promise<Namespace> {
    const request = { namespace, config, reset: options.reset ?? [] };
    return this.#control("UpdateNamespace", "writes", request, options);
  }

  /**
   * Deletes the namespace. Until `restorableUntil` of the answer, `undeleteNamespace` restores it.
   * With `purge` its events are removed at once. A deleted namespace is purged by its id alone.
   */
  async deleteNamespace(
    namespace: string | { readonly id: string },
    options: CallOptions & { readonly purge?: boolean; readonly reason?: string } = {},
  ): Promise<DeletedNamespace> {
    const { purge = false, reason = "" } = options;
    const request = { ...deletedRef(namespace), purge, reason };
    return this.#control("DeleteNamespace", "writes once", request, options);
  }

  /**
   * Restores a deleted namespace with all its events, by name or id; `asName` gives it another name.
   */
  async undeleteNamespace(
    namespace: string | { readonly id: string },
    options: CallOptions & { readonly asName?: string } = {},
  ): Promise<Namespace> {
    const request = { ...deletedRef(namespace), asName: options.asName ?? "" };
    return this.#control("UndeleteNamespace", "writes", request, options);
  }

  /** The deleted namespaces that still take up space. */
  async *listDeletedNamespaces(
    options?: CallOptions,
  ): AsyncGenerator<DeletedNamespace, void, undefined> {
    const pages = this.#list("ListDeletedNamespaces", {}, options);
    for await (const page of pages) yield* page.namespaces;
  }

  async listTimeSlices(namespace: string, options?: CallOptions): Promise<readonly TimeSlice[]> {
    const request = { namespace };
    return (await this.#control("ListTimeSlices", "reads", request, options)).slices;
  }

  /** Takes back a slice that retention has marked as DROPPING. */
  async undropTimeSlice(
    namespace: string,
    timeSlice: string,
    options?: CallOptions,
  ): Promise<TimeSlice> {
    return this.#control("UndropTimeSlice", "writes", { namespace, timeSlice }, options);
  }

  /** Drops a slice that is DROPPING now, without the rest of its grace. Cannot be undone. */
  async purgeTimeSlice(
    namespace: string,
    timeSlice: string,
    options?: CallOptions,
  ): Promise<TimeSlice> {
    return this.#control("PurgeTimeSlice", "writes", { namespace, timeSlice }, options);
  }

  /**
   * How large the partitions of a slice are. If `timeSlice` is "", the slice that accepts events
   * now. With `history`, also what the last walk over each slice found.
   */
  async getHistogram(
    namespace: string,
    timeSlice = "",
    options?: CallOptions & { readonly history?: boolean },
  ): Promise<PartitionHistogram> {
    const history = options?.history === true ? { history: true } : {};
    const request = { namespace, timeSlice, ...history };
    return this.#control("GetHistogram", "reads", request, options);
  }

  /** Names a remedy for each problem of a namespace's partitions. */
  async getRemedies(namespace: string, options?: CallOptions): Promise<readonly Remedy[]> {
    return (await this.#control("GetRemedies", "reads", { namespace }, options)).remedies;
  }

  /** What the tuner observed, proposed and changed, and what it would propose now. */
  async listTunings(namespace: string, options?: CallOptions): Promise<TuningList> {
    return this.#control("ListTunings", "reads", { namespace }, options);
  }

  /** Accepts a proposed tuning for future slices, or refuses it. */
  async decideTuning(
    namespace: string,
    id: string,
    decision: { readonly accept: boolean; readonly reason?: string },
    options?: CallOptions,
  ): Promise<Tuning> {
    const { accept, reason = "" } = decision;
    return this.#control("DecideTuning", "writes once", { namespace, id, accept, reason }, options);
  }

  /**
   * The largest partitions of a slice, page by page: `pageToken` is the `nextPageToken` of the page
   * before. If `timeSlice` is "", the slice that accepts events now.
   */
  async listPartitions(
    namespace: string,
    timeSlice = "",
    options?: CallOptions & {
      readonly orderBy?: PartitionOrder;
      readonly pageSize?: number;
      readonly pageToken?: string;
      readonly filter?: PartitionFilter;
    },
  ): Promise<PartitionPage> {
    const { orderBy = "BYTES", pageSize = 0, pageToken = "", filter } = options ?? {};
    const request = { namespace, timeSlice, orderBy, pageSize, pageToken, ...filter };
    return this.#control("ListPartitions", "reads", request, options);
  }

  /**
   * The ids of the newest slices, or of `timeSlice`, that begin with `prefix`, page by page:
   * `pageToken` is the `nextPageToken` of the page before. Not on Cassandra: NOT_SUPPORTED.
   */
  async listIds(
    namespace: string,
    options?: CallOptions & {
      readonly prefix?: string;
      readonly timeSlice?: string;
      readonly pageSize?: number;
      readonly pageToken?: string;
    },
  ): Promise<IdPage> {
    const { prefix = "", timeSlice = "", pageSize = 0, pageToken = "" } = options ?? {};
    const request = { namespace, prefix, timeSlice, pageSize, pageToken };
    return this.#control("ListIds", "reads", request, options);
  }

  /**
   * The partitions of a slice as a grid, with today's splits marked. If `timeSlice` is "", the slice
   * that accepts events now.
   */
  async getWidthMap(
    namespace: string,
    timeSlice = "",
    options?: CallOptions & WidthMapChoices,
  ): Promise<WidthMap> {
    const { rows = "SIZE", measure = "PARTITIONS", columnsMax = 0 } = options ?? {};
    const request = { namespace, timeSlice, rows, measure, columnsMax };
    return this.#control("GetWidthMap", "reads", request, options);
  }

  /** Blocks reads and writes of these ids, until the block expires or is removed. */
  async blockIds(
    namespace: string,
    ids: readonly IdToBlock[],
    options?: CallOptions,
  ): Promise<readonly BlockedId[]> {
    const request = {
      namespace,
      ids: ids.map(({ timeSeriesId, reason = "", expireTime }) => ({
        timeSeriesId,
        reason,
        ...(expireTime !== undefined && { expireTime: timeText(expireTime) }),
      })),
    };
    return (await this.#control("BlockIds", "writes", request, options)).ids;
  }

  /** Resolves with the number of ids that were blocked and are not any more. */
  async unblockIds(
    namespace: string,
    timeSeriesIds: readonly string[],
    options?: CallOptions,
  ): Promise<number> {
    const request = { namespace, timeSeriesIds };
    return (await this.#control("UnblockIds", "writes", request, options)).unblocked;
  }

  async *listBlockedIds(
    namespace: string,
    options?: CallOptions,
  ): AsyncGenerator<BlockedId, void, undefined> {
    const pages = this.#list("ListBlockedIds", { namespace }, options);
    for await (const page of pages) yield* page.ids;
  }

  async *#list<N extends "ListNamespaces" | "ListDeletedNamespaces" | "ListBlockedIds">(
    name: N,
    request: ControlServiceMethods[N]["request"],
    options?: CallOptions,
  ): AsyncGenerator<ControlServiceMethods[N]["answer"], void, undefined> {
    let pageToken = "";
    do {
      const page = await this.#control(name, "reads", { ...request, pageToken }, options);
      yield page;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  async #control<N extends keyof ControlServiceMethods>(
    name: N,
    effect: Effect,
    request: ControlServiceMethods[N]["request"],
    options?: CallOptions,
  ): Promise<ControlServiceMethods[N]["answer"]> {
    const method = { path: `${CONTROL}/${name}`, effect, headers: this.#controlHeaders };
    return this.#call(method, request, options);
  }

  /** A call in JSON. The contract fixes the shape of an answer, so it is not checked. */
  async #call<T>(method: Method, request: object, options?: CallOptions): Promise<T> {
    const body = JSON.stringify(request);
    const decode = (bytes: Uint8Array): T => answerJson(bytes) as T;
    return this.#transport.call(method, jsonCodec, body, decode, options);
  }
}

const DATA = "braid.v1.TimeSeriesService";
const CONTROL = "braid.v1.ControlService";
const WRITE_SYNC: Method = { path: `${DATA}/WriteEventRecordsSync`, effect: "writes" };
const WATCH: Method = { path: `${CONTROL}/Watch`, effect: "reads", stream: true };
const WRITE: Method = { path: `${DATA}/WriteEventRecords`, effect: "writes" };

function throwFailures(failures: readonly EventFailure[], written: number): void {
  if (failures.length > 0) throw new EventsFailedError(failures, written);
}

function deletedRef(namespace: string | { readonly id: string }): {
  namespace: string;
  id: string;
} {
  if (typeof namespace === "string") return { namespace, id: "" };
  return { namespace: "", id: namespace.id };
}
