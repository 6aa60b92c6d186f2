/** The calls of operators on the queue of detections and its dead letters: `client.queue`. */
import type { CallOptions } from "./call-options.ts";
import type {
  DeadDetection,
  DeadDetectionPage,
  DeadDetectionsAnswer,
  QueueStatus,
} from "./messages.ts";
import type { ControlCall, OperatorOptions } from "./split-calls.ts";

/** Dead letters by their positions, or all. */
export type DeadTarget = readonly string[] | "all";

export class QueueCalls {
  readonly #call: ControlCall;

  constructor(call: ControlCall) {
    this.#call = call;
  }

  /** What waits, in flight and dead, by partition. */
  async get(options?: CallOptions): Promise<QueueStatus> {
    return this.#call("GetQueue", "reads", {}, options);
  }

  /** All dead letters that were neither replayed nor dropped, fetched page by page. */
  async *dead(options: CallOptions = {}): AsyncGenerator<DeadDetection, void, undefined> {
    let pageToken = "";
    do {
      const page = await this.deadPage({ ...options, pageToken });
      yield* page.deadDetections;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  /** One page, with what operators did last. */
  async deadPage(
    options: CallOptions & { readonly pageSize?: number; readonly pageToken?: string } = {},
  ): Promise<DeadDetectionPage> {
    const { pageSize = 0, pageToken = "" } = options;
    return this.#call("ListDeadDetections", "reads", { pageSize, pageToken }, options);
  }

  /** Puts them into the queue again, unchanged. */
  async replay(target: DeadTarget, options: OperatorOptions = {}): Promise<DeadDetectionsAnswer> {
    const { reason = "" } = options;
    const request = { ...targetOf(target), reason };
    // A repeat would find them replayed, and say that they are missing.
    return this.#call("ReplayDeadDetections", "writes once", request, options);
  }

  /** For good. The reason is required. */
  async drop(
    target: DeadTarget,
    options: CallOptions & { readonly reason: string },
  ): Promise<DeadDetectionsAnswer> {
    const request = { ...targetOf(target), reason: options.reason };
    return this.#call("DropDeadDetections", "writes once", request, options);
  }
}

function targetOf(target: DeadTarget): { positions: string[]; all: boolean } {
  return target === "all" ? { positions: [], all: true } : { positions: [...target], all: false };
}
