/** What operators do with splits, read modes and comparisons, through a client: `client.splits`. */
import type { ControlServiceMethods } from "./generated/messages.ts";
import type {
  KillSwitch,
  Partition,
  ReadMode,
  ReadModeName,
  Split,
  SplitPage,
  SplitState,
  Verification,
} from "./messages.ts";
import type { CallOptions, Effect } from "./transport.ts";

/** One call of the control side, as the client makes it. */
export type ControlCall = <N extends keyof ControlServiceMethods>(
  name: N,
  effect: Effect,
  request: ControlServiceMethods[N]["request"],
  options?: CallOptions,
) => Promise<ControlServiceMethods[N]["answer"]>;

/** Why; kept with what was done. */
export type OperatorOptions = CallOptions & { readonly reason?: string };

export class SplitCalls {
  readonly #call: ControlCall;

  constructor(call: ControlCall) {
    this.#call = call;
  }

  /** All splits of a namespace, fetched page by page, without their parts. */
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
      readonly pageSize?: number;
      readonly pageToken?: string;
    } = {},
  ): Promise<SplitPage> {
    const { state, pageSize = 0, pageToken = "" } = options;
    const request = { namespace, ...(state !== undefined && { state }), pageSize, pageToken };
    return this.#call("ListSplits", "reads", request, options);
  }

  /** With its parts. */
  async get(namespace: string, partition: Partition, options?: CallOptions): Promise<Split> {
    const request = { namespace, partition: locationOf(partition) };
    return this.#call("GetSplit", "reads", request, options);
  }

  /** Does by hand what a detection does. */
  async request(
    namespace: string,
    partition: Partition,
    options?: OperatorOptions,
  ): Promise<Split> {
    return this.#operatorRequest("RequestSplit", namespace, partition, options);
  }

  /** Lets one that failed, was refused, parked or rolled back be planned anew. */
  async retry(namespace: string, partition: Partition, options?: OperatorOptions): Promise<Split> {
    return this.#operatorRequest("RetrySplit", namespace, partition, options);
  }

  /** Back to the original, until a retry. */
  async rollback(
    namespace: string,
    partition: Partition,
    options?: OperatorOptions,
  ): Promise<Split> {
    return this.#operatorRequest("RollbackSplit", namespace, partition, options);
  }

  /** Stops all work on the splits of a namespace; those that are completed stay in use. */
  async pause(namespace: string, options: OperatorOptions = {}): Promise<void> {
    const { reason = "" } = options;
    await this.#call("PauseSplits", "writes", { namespace, reason }, options);
  }

  async resume(namespace: string, options: OperatorOptions = {}): Promise<void> {
    const { reason = "" } = options;
    await this.#call("ResumeSplits", "writes", { namespace, reason }, options);
  }

  async getReadMode(namespace: string, options?: CallOptions): Promise<ReadMode> {
    return this.#call("GetReadMode", "reads", { namespace }, options);
  }

  /**
   * Without `force` only where the evidence allows it. `autoAdvance` stays as it is if not given.
   */
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

  /** While it is on every read of every namespace is served from originals. */
  async setKillSwitch(on: boolean, options: OperatorOptions = {}): Promise<KillSwitch> {
    const { reason = "" } = options;
    return this.#call("SetKillSwitch", "writes", { on, reason }, options);
  }

  /**
   * Begins to compare one partition, a slice, or all slices with their originals, event by event.
   * Resolves at once, with the id to ask for with `getVerify`.
   */
  async startVerify(
    namespace: string,
    target: { readonly partition?: Partition; readonly timeSlice?: string } = {},
    options?: CallOptions,
  ): Promise<string> {
    const { partition, timeSlice } = target;
    const request = {
      namespace,
      ...(partition !== undefined && { partition: locationOf(partition) }),
      ...(timeSlice !== undefined && { timeSlice }),
    };
    // Twice would be two comparisons.
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

  /** These may be repeated: the second finds the split as the first left it. */
  #operatorRequest(
    name: "RequestSplit" | "RetrySplit" | "RollbackSplit",
    namespace: string,
    partition: Partition,
    options: OperatorOptions = {},
  ): Promise<Split> {
    const { reason = "" } = options;
    const request = { namespace, partition: locationOf(partition), reason };
    return this.#call(name, "writes", request, options);
  }
}

/** A split's own `preSplitData` names its partition too, and has more than the server takes. */
function locationOf({ timeSlice, timeSeriesId, timeBucket, eventBucket }: Partition): Partition {
  return { timeSlice, timeSeriesId, timeBucket, eventBucket };
}
