/** The splits and the read mode of one namespace, as the API shows them. */
import { setTimeout as pause } from "node:timers/promises";
import type { ServerProcess } from "./server-process.ts";
import type { Place } from "./wide-space.ts";

/** Only what is used; 64-bit numbers are text in JSON. */
export interface SplitAnswer {
  readonly state: string;
  readonly reason: string;
  readonly preSplitData: {
    readonly timeSeriesId: string;
    readonly bytes: string;
    readonly events: string;
  };
  readonly segments: readonly SegmentAnswer[];
  readonly history: readonly {
    readonly at: string;
    readonly by: string;
    readonly to: string;
    readonly reason: string;
  }[];
}

export interface SegmentAnswer {
  readonly state: string;
  readonly why: string;
  readonly confirmed: boolean;
  readonly postSplitData: {
    readonly layout: string;
    readonly strategy: string;
    readonly bytes: string;
    readonly events: string;
    readonly checksum: string;
    readonly eventBucketPartitionStrategy: { readonly targetEventBuckets: number };
    readonly parts: readonly { readonly bytes: string; readonly events: string }[];
  };
}

export interface ModeAnswer {
  readonly mode: string;
  readonly blockedBy: string;
  readonly evidence: readonly {
    readonly layout: string;
    readonly readsCompared: string;
    readonly bytesMatched: string;
    readonly bytesDiffered: string;
  }[];
}

const POLL_MS = 50;
/** States that nothing leaves by itself, or not soon. */
const STUCK = new Set(["REFUSED", "FAILED", "INVALIDATED"]);

export class SplitControl {
  readonly #server: ServerProcess;
  readonly #namespace: string;

  constructor(server: ServerProcess, namespace: string) {
    this.#server = server;
    this.#namespace = namespace;
  }

  async list(): Promise<readonly SplitAnswer[]> {
    const { splits } = (await this.#post("ListSplits", {})) as { splits: SplitAnswer[] };
    return splits;
  }

  /** Undefined until the API has returned it. */
  async get(partition: Place): Promise<SplitAnswer | undefined> {
    try {
      return (await this.#post("GetSplit", { partition })) as SplitAnswer;
    } catch (error) {
      if (error instanceof Error && error.message.includes("SPLIT_NOT_FOUND")) return undefined;
      throw error;
    }
  }

  async request(partition: Place, reason: string): Promise<SplitAnswer> {
    return (await this.#post("RequestSplit", { partition, reason })) as SplitAnswer;
  }

  async mode(): Promise<ModeAnswer> {
    return (await this.#post("GetReadMode", {})) as ModeAnswer;
  }

  /** Whatever the evidence says. */
  async setMode(mode: string, reason: string): Promise<void> {
    await this.#post("SetReadMode", { mode, force: true, autoAdvance: false, reason });
  }

  /**
   * Asks until `done`; `onLook` sees every answer. Throws when the split is stuck, or after
   * `withinMs`, with what it was.
   */
  async until(
    partition: Place,
    done: (split: SplitAnswer) => boolean,
    withinMs: number,
    onLook: (split: SplitAnswer) => void = () => undefined,
  ): Promise<SplitAnswer> {
    const end = performance.now() + withinMs;
    for (;;) {
      const split = await this.get(partition);
      if (split !== undefined) {
        onLook(split);
        if (done(split)) return split;
      }
      const what = `the split of ${partition.timeSeriesId}`;
      if (split !== undefined && STUCK.has(split.state)) {
        throw new Error(`${what} is ${split.state}: ${split.reason}`);
      }
      if (performance.now() > end) {
        const seen = split === undefined ? "not there" : `${split.state}: ${split.reason}`;
        throw new Error(`${what} is ${seen} after ${Math.round(withinMs / 1000)} s`);
      }
      await pause(POLL_MS);
    }
  }

  #post(method: string, body: Record<string, unknown>): Promise<unknown> {
    const request = { namespace: this.#namespace, ...body };
    return this.#server.post(`ControlService/${method}`, request);
  }
}

/** Every segment copied and proven. */
export function isCompleted(split: SplitAnswer): boolean {
  return split.state === "COMPLETED";
}

/** A second read of the original agreed: from here on it may be served. */
export function isConfirmed(split: SplitAnswer): boolean {
  return isCompleted(split) && split.segments.every(({ confirmed }) => confirmed);
}

export function partsOf(split: SplitAnswer): number {
  return sumOf(
    split,
    ({ postSplitData }) => postSplitData.eventBucketPartitionStrategy.targetEventBuckets,
  );
}

export function copiedBytes(split: SplitAnswer): number {
  return sumOf(split, ({ postSplitData }) => Number(postSplitData.bytes));
}

function sumOf(split: SplitAnswer, of: (segment: SegmentAnswer) => number): number {
  return split.segments.reduce((sum, segment) => sum + of(segment), 0);
}
