/** The calls of operators on splits, read modes and comparisons: `client.splits`. */
import type { ControlServiceMethods } from "./generated/messages.ts";
import type {
  KillSwitch,
  Partition,
  PauseAnswer,
  ReadMode,
  ReadModeName,
  ResumeAnswer,
  Split,
  SplitPage,
  SplitState,
  SplitSummaryPage,
  Verification,
} from "./messages.ts";
import type { CallOptions } from "./call-options.ts";
import type { Effect } from "./transport.ts";

/** Sends one control call. */
export type ControlCall = <N extends keyof ControlServiceMethods>(
  name: N,
  effect: Effect,
  request: ControlServiceMethods[N]["request"],
  options?: CallOptions,
) => Promise<ControlServiceMethods[N]["answer"]>;

/** The reason, recorded with the change. */
export type OperatorOptions = CallOptions & { readonly reason?: string };

/** What to compare; everything if nothing is given. */
export interface VerifyTarget {
  readonly partition?: Partition;
  /** Instead of `partition`. */
  readonly splitId?: string;
  readonly timeSlice?: string;
}

/** A split by its partition or by its short id; a `Split` also fits. */
export type SplitTarget = Partition | { readonly splitId: string };

export class SplitCalls {
  readonly #call: ControlCall;

  constructor(call: ControlCall) {
    this.#call = call;
  }

  /** All splits of a namespace (of all if it is ""), fetched page by page, without their parts. */
  async *list(
    namespace: string,
    options: CallOptions & { readonly state?: SplitState } = {},
  ): AsyncGenerator<Split, void, undefined> {
    let pageToken = "";
    do {
      const page = await this.listPage(namespace, { ...options, pageToken });
      yield* page.splits;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  /** One page: it may be short, even empty, and still not be the last. */
  async listPage(
    namespace: string,
    options: CallOptions & {
      readonly state?: SplitState;
      /** Instead of `state`: splits in one of these. */
      readonly states?: readonly SplitState[];
      readonly pageSize?: number;
      readonly pageToken?: string;
    } = {},
  ): Promise<SplitPage> {
    const { state, states = [], pageSize = 0, pageToken = "" } = options;
    const request = {
      namespace,
      ...(state !== undefined && { state }),
      ...(states.length > 0 && { states: [...states] }),
      pageSize,
      pageToken,
    };
    return this.#call("ListSplits", "reads", request, options);
  }

  /**
   * The splits that moved last, newest first, of a namespace (of all if it is ""). One page, from a
   * bounded search: `examinedAll` says whether there are no others.
   */
  async newest(
    namespace: string,
    options: CallOptions & {
      readonly states?: readonly SplitState[];
      readonly pageSize?: number;
    } = {},
  ): Promise<SplitPage> {
    const { states = [], pageSize = 0 } = options;
    const request = { namespace, states: [...states], pageSize, order: "NEWEST_FIRST" as const };
    return this.#call("ListSplits", "reads", request, options);
  }

  /**
   * Numbers by state, sizes before and after, and the space of the copies, in total and by namespace
   * (one, or all if it is ""), as counted about once a minute.
   */
  async summary(
    namespace = "",
    options: CallOptions & { readonly pageSize?: number; readonly pageToken?: string } = {},
  ): Promise<SplitSummaryPage> {
    const { pageSize = 0, pageToken = "" } = options;
    return this.#call("GetSplitSummary", "reads", { namespace, pageSize, pageToken }, options);
  }

  /** One split with its parts. */
  async get(namespace: string, target: SplitTarget, options?: CallOptions): Promise<Split> {
    const request = { namespace, ...locationOf(target) };
    return this.#call("GetSplit", "reads", request, options);
  }

  /** Requests a split, as a detection does; with `force`, even if the partition is not wide. */
  async request(
    namespace: string,
    target: SplitTarget,
    options: OperatorOptions & { readonly force?: boolean } = {},
  ): Promise<Split> {
    const { reason = "", force = false } = options;
    const request = { namespace, ...locationOf(target), reason, ...(force && { force }) };
    return this.#call("RequestSplit", "writes", request, options);
  }

  /** Has a split planned again after it failed or was refused, parked or rolled back. */
  async retry(namespace: string, target: SplitTarget, options?: OperatorOptions): Promise<Split> {
    return this.#operatorRequest("RetrySplit", namespace, target, options);
  }

  /** Returns reads to the original, until a retry. */
  async rollback(
    namespace: string,
    target: SplitTarget,
    options?: OperatorOptions,
  ): Promise<Split> {
    return this.#operatorRequest("RollbackSplit", namespace, target, options);
  }

  /** Stops all work on the splits of a namespace; completed splits stay in use. */
  async pause(namespace: string, options: OperatorOptions = {}): Promise<PauseAnswer> {
    const { reason = "" } = options;
    return this.#call("PauseSplits", "writes", { namespace, reason }, options);
  }

  async resume(namespace: string, options: OperatorOptions = {}): Promise<ResumeAnswer> {
    const { reason = "" } = options;
    return this.#call("ResumeSplits", "writes", { namespace, reason }, options);
  }

  async getReadMode(namespace: string, options?: CallOptions): Promise<ReadMode> {
    return this.#call("GetReadMode", "reads", { namespace }, options);
  }

  /** Without `force`, only if the evidence allows it. `autoAdvance` is unchanged if not given. */
  async setReadMode(
    namespace: string,
    mode: ReadModeName,
    options: OperatorOptions & { readonly force?: boolean; readonly autoAdvance?: boolean } = {},
  ): Promise<ReadMode> {
    const { force = false, autoAdvance, reason = "" } = options;
    const request = {
      namespace,
      mode,
      force,
      ...(autoAdvance !== undefined && { autoAdvance }),
      reason,
    };
    return this.#call("SetReadMode", "writes", request, options);
  }

  async getKillSwitch(options?: CallOptions): Promise<KillSwitch> {
    return this.#call("GetKillSwitch", "reads", {}, options);
  }

  /** While it is on, every read of every namespace uses originals. */
  async setKillSwitch(on: boolean, options: OperatorOptions = {}): Promise<KillSwitch> {
    const { reason = "" } = options;
    return this.#call("SetKillSwitch", "writes", { on, reason }, options);
  }

  /**
   * Starts a comparison of one partition, a slice, or all slices with their originals, event by
   * event. Resolves at once, with the id for `getVerify`.
   */
  async startVerify(
    namespace: string,
    target: VerifyTarget = {},
    options?: CallOptions,
  ): Promise<string> {
    const { partition, splitId, timeSlice } = target;
    const request = {
      namespace,
      ...(partition !== undefined && locationOf(partition)),
      ...(splitId !== undefined && { splitId }),
      ...(timeSlice !== undefined && { timeSlice }),
    };
    // A repeat would start a second comparison.
    const started = await this.#call("StartVerify", "writes once", request, options);
    return started.verifyId;
  }

  async getVerify(
    namespace: string,
    verifyId: string,
    options?: CallOptions,
  ): Promise<Verification> {
    return this.#call("GetVerify", "reads", { namespace, verifyId }, options);
  }

  /** Safe to repeat: the second request finds the split as the first left it. */
  #operatorRequest(
    name: "RetrySplit" | "RollbackSplit",
    namespace: string,
    target: SplitTarget,
    options: OperatorOptions = {},
  ): Promise<Split> {
    const { reason = "" } = options;
    return this.#call(name, "writes", { namespace, ...locationOf(target), reason }, options);
  }
}

type Location = { readonly splitId: string } | { readonly partition: Partition };

/** Selects the fields that the server takes: a `Split` and its `preSplitData` have more. */
function locationOf(target: SplitTarget): Location {
  if ("splitId" in target) return { splitId: target.splitId };
  const { timeSlice, timeSeriesId, timeBucket, eventBucket } = target;
  return { partition: { timeSlice, timeSeriesId, timeBucket, eventBucket } };
}
