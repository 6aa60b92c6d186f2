/**
 * Offline comparison of splits with their originals: started by an operator, done in the background of
 * whichever process has time, gone on with by another when that one dies.
 *
 * What it needs is bounded: a few comparisons at a time, a few splits of each, and of what has ended the
 * last ones are kept.
 */
import { compareAndSet, LOST } from "../../lib/compare-and-set.ts";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { OwnerLiveness } from "../../lib/owner-liveness.ts";
import type { Random } from "../../lib/random.ts";
import { readReadyNamespace } from "../../records/namespace-records.ts";
import { readSlice } from "../../records/slice-records.ts";
import { readSplit } from "../../records/split-records.ts";
import type { SplitLocation, VerifyProgress, VerifyUseCases } from "../use-cases.ts";
import type { Catalog } from "../../ports/catalog.ts";
import type { EventStore } from "../../ports/event-store.ts";
import { Verification } from "./verification.ts";
import {
  listRunning,
  listVerifies,
  noteRunning,
  readVerify,
  removeRunning,
  removeVerify,
  writeVerify,
} from "./verify-records.ts";
import type { RunningVerify, VerifyRecord, VerifyTarget } from "./verify-records.ts";

export interface VerifierOptions {
  readonly catalog: Catalog;
  readonly store: EventStore;
  readonly clock: Clock;
  readonly random: Random;
  /** Which process this is. Never used by two. */
  readonly by: string;
  readonly leaseMs?: number;
  /** How often this process looks for comparisons that nobody works on. */
  readonly everyMs?: number;
  /** A round that failed; the next one comes. */
  readonly onFailed?: (error: unknown) => void;
}

const LEASE_MS = 10_000;
const EVERY_MS = 5_000;
/** Comparisons one process works on at a time. */
const AT_ONCE_MAX = 2;
/** Comparisons of one namespace that run at a time, and that are kept when they have ended. */
const RUNNING_MAX = 10;
const ENDED_KEPT = 50;
const LISTED_MAX = 100;
const RESUMED_MICROS_MAX = 3_600_000_000;

export class Verifier implements VerifyUseCases {
  readonly #options: VerifierOptions;
  /** Those this process works on. */
  readonly #working = new Map<string, Promise<void>>();
  readonly #owners: OwnerLiveness;
  #wake = new AbortController();

  constructor(options: VerifierOptions) {
    this.#options = options;
    this.#owners = new OwnerLiveness(options.clock, options.leaseMs ?? LEASE_MS);
  }

  async start(
    namespace: string,
    target: { readonly location?: SplitLocation; readonly timeSlice?: string },
  ): Promise<string> {
    const { catalog } = this.#options;
    const { id } = await readReadyNamespace(catalog, namespace);
    const wanted = targetOf(target);
    await this.#checkTarget(id, wanted);
    const message = "the comparison is being changed by others; try again";
    const record = await compareAndSet(
      { message },
      async () => (await this.#startedOrNew(namespace, id, wanted)) ?? LOST,
    );
    await noteRunning(catalog, record);
    this.#wake.abort();
    return record.verifyId;
  }

  async get(namespace: string, verifyId: string): Promise<VerifyProgress> {
    const { catalog } = this.#options;
    const { id } = await readReadyNamespace(catalog, namespace);
    const record = await readVerify(catalog, id, verifyId);
    if (record !== undefined) return progressOf(record);
    throw new ServiceError(
      "VERIFY_NOT_FOUND",
      `namespace "${namespace}" has no comparison ${JSON.stringify(verifyId.slice(0, 60))}; the last ${ENDED_KEPT} are kept`,
      { details: { namespace, verifyId: verifyId.slice(0, 60) } },
    );
  }

  /** Works on what is to be compared until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, everyMs = EVERY_MS, onFailed } = this.#options;
    const stop = (): void => this.#wake.abort();
    signal.addEventListener("abort", stop, { once: true });
    while (!signal.aborted) {
      this.#wake = new AbortController();
      try {
        await this.#takeUp(signal);
      } catch (error) {
        onFailed?.(error);
      }
      if (!signal.aborted) await clock.sleep(everyMs, this.#wake.signal);
    }
    signal.removeEventListener("abort", stop);
    await Promise.allSettled(this.#working.values());
  }

  async #takeUp(signal: AbortSignal): Promise<void> {
    const { catalog } = this.#options;
    const listed = await listRunning(catalog, LISTED_MAX);
    for (const running of listed) {
      if (this.#working.size >= AT_ONCE_MAX || signal.aborted) return;
      const name = nameOf(running);
      if (this.#working.has(name)) continue;
      const record = await readVerify(catalog, running.namespaceId, running.verifyId);
      if (record?.state !== "RUNNING") {
        await removeRunning(catalog, running);
      } else if (this.#isFree(name, record)) {
        const claimed = await this.#claim(record);
        if (claimed !== undefined) this.#work(name, claimed, signal);
      }
    }
  }

  /** Without an owner, or with a dead one (rule C16). */
  #isFree(name: string, { owner, fence }: VerifyRecord): boolean {
    return owner === null || this.#owners.isDead(name, { fence, counter: owner.heartbeat });
  }

  #claim(record: VerifyRecord): Promise<VerifyRecord | undefined> {
    const { catalog, by } = this.#options;
    const fence = record.fence + 1;
    return writeVerify(catalog, { ...record, fence, owner: { by, heartbeat: 0 } });
  }

  #work(name: string, claimed: VerifyRecord, signal: AbortSignal): void {
    const work = this.#finish(claimed, signal).finally(() => {
      this.#working.delete(name);
      // Another may have waited for its turn.
      this.#wake.abort();
    });
    this.#working.set(name, work);
  }

  async #finish(claimed: VerifyRecord, signal: AbortSignal): Promise<void> {
    const { catalog, onFailed } = this.#options;
    try {
      const ended = await new Verification(this.#options, claimed, signal).run();
      if (ended) await removeRunning(catalog, claimed);
    } catch (error) {
      onFailed?.(error);
    }
  }

  /** The one of this target that has not come to its end, or a new one. Undefined if overtaken. */
  async #startedOrNew(
    namespace: string,
    namespaceId: string,
    target: VerifyTarget,
  ): Promise<VerifyRecord | undefined> {
    const { catalog } = this.#options;
    const all = await listVerifies(catalog, namespaceId);
    const name = JSON.stringify(target);
    const same = all.findLast(
      (record) => JSON.stringify(record.target) === name && this.#goesOn(record),
    );
    if (same?.state === "RUNNING") return same;
    const running = all.filter(({ state }) => state === "RUNNING").length;
    if (running >= RUNNING_MAX) {
      throw new ServiceError(
        "OVERLOADED",
        `${running} comparisons of namespace "${namespace}" are running; wait for one of them`,
        { details: { namespace, limit: RUNNING_MAX }, retryAfterMs: 10_000 },
      );
    }
    if (same !== undefined) {
      return writeVerify(catalog, { ...same, state: "RUNNING", reason: "", endedAt: 0 });
    }
    await this.#forgetOld(all);
    return writeVerify(catalog, this.#newRecord(namespace, namespaceId, target));
  }

  /**
   * One that failed is gone on with while what it has compared is still about what there is: not for long, and
   * not when it has found something, which an operator may have mended since.
   */
  #goesOn({ state, endedAt, differencesFound }: VerifyRecord): boolean {
    if (state !== "FAILED") return state === "RUNNING";
    const recent = this.#options.clock.nowMicros() - endedAt < RESUMED_MICROS_MAX;
    return recent && differencesFound === 0;
  }

  async #forgetOld(all: readonly VerifyRecord[]): Promise<void> {
    const ended = all.filter(({ state }) => state !== "RUNNING");
    for (const record of ended.slice(0, Math.max(0, ended.length - ENDED_KEPT + 1))) {
      await removeVerify(this.#options.catalog, record);
    }
  }

  #newRecord(namespace: string, namespaceId: string, target: VerifyTarget): VerifyRecord {
    const { clock, random } = this.#options;
    const startedAt = clock.nowMicros();
    // By time, so that the oldest come first.
    const time = String(startedAt).padStart(16, "0");
    return {
      verifyId: `${time}-${Buffer.from(random.bytes(4)).toString("hex")}`,
      namespaceId,
      namespace,
      target,
      state: "RUNNING",
      splitsDone: 0,
      splitsTotal: 0,
      splitsSkipped: 0,
      eventsCompared: 0,
      bytesCompared: 0,
      differences: [],
      differencesFound: 0,
      startedAt,
      endedAt: 0,
      reason: "",
      checkpoint: { counted: false, slice: "", cursor: "", begun: {} },
      fence: 0,
      owner: null,
      version: 0,
    };
  }

  async #checkTarget(namespaceId: string, { slice, partition }: VerifyTarget): Promise<void> {
    const { catalog } = this.#options;
    if (slice === null) return;
    const found = await readSlice(catalog, namespaceId, slice);
    if (found === undefined || found.state === "DROPPED") {
      throw new ServiceError(
        "TIME_SLICE_NOT_FOUND",
        `there is no time slice ${JSON.stringify(slice.slice(0, 60))}; list those there are`,
        { details: { timeSlice: slice.slice(0, 60) } },
      );
    }
    if (partition === null) return;
    const record = await readSplit(catalog, { namespaceId, slice, ...partition });
    if (record !== undefined) return;
    throw new ServiceError(
      "SPLIT_NOT_FOUND",
      "there is no split of this partition to compare; list those there are",
      { details: { timeSlice: slice, timeSeriesId: partition.seriesId } },
    );
  }
}

function targetOf({
  location,
  timeSlice,
}: {
  readonly location?: SplitLocation;
  readonly timeSlice?: string;
}): VerifyTarget {
  if (location === undefined) return { slice: timeSlice ?? null, partition: null };
  const { seriesId, timeBucket, eventBucket } = location;
  return { slice: location.timeSlice, partition: { seriesId, timeBucket, eventBucket } };
}

function progressOf(record: VerifyRecord): VerifyProgress {
  const { verifyId, namespace, state, splitsDone, splitsTotal, eventsCompared } = record;
  const { bytesCompared, differences, differencesFound, startedAt, endedAt, reason } = record;
  return {
    verifyId,
    namespace,
    state,
    splitsDone,
    splitsTotal,
    eventsCompared,
    bytesCompared,
    differences,
    differencesFound,
    startedAt,
    endedAt,
    reason,
  };
}

function nameOf({ namespaceId, verifyId }: RunningVerify): string {
  return `${namespaceId}|${verifyId}`;
}
