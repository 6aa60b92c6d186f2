/**
 * Offline comparison of splits with their originals: an operator starts it (`startVerify`), a
 * process that has time does it in the background (`Verification`), and another continues it when
 * that one dies.
 *
 * This class decides which comparisons the process works on: a few at a time.
 */
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { OwnerLiveness } from "../../lib/owner-liveness.ts";
import type { Random } from "../../lib/random.ts";
import { readReadyNamespace } from "../../records/namespace-records.ts";
import type { SplitLocation, VerifyProgress, VerifyUseCases } from "../use-cases.ts";
import type { Catalog } from "../../ports/catalog.ts";
import type { EventStore } from "../../ports/event-store.ts";
import { ENDED_KEPT, startVerify } from "./start-verify.ts";
import { Verification } from "./verification.ts";
import type { VerificationDeps } from "./verification.ts";
import { listRunning, readVerify, removeRunning, writeVerify } from "./verify-records.ts";
import type { RunningVerify, VerifyRecord } from "./verify-records.ts";

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
  /** See `VerificationDeps`. */
  readonly recheck?: VerificationDeps["recheck"];
  /** A round that failed; the next one comes. */
  readonly onFailed?: (error: unknown) => void;
}

const LEASE_MS = 10_000;
const EVERY_MS = 5_000;
/** Comparisons one process works on at a time. */
const AT_ONCE_MAX = 2;
const LISTED_MAX = 100;

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
    const verifyId = await startVerify(this.#options, namespace, target);
    this.#wake.abort();
    return verifyId;
  }

  async get(
    namespace: string,
    verifyId: string,
  ): Promise<VerifyProgress & { readonly by: string }> {
    const { catalog } = this.#options;
    const { id } = await readReadyNamespace(catalog, namespace);
    const record = await readVerify(catalog, id, verifyId);
    if (record !== undefined) return { ...progressOf(record), by: record.owner?.by ?? "" };
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
}

function progressOf(record: VerifyRecord): VerifyProgress {
  const { verifyId, namespace, state, splitsDone, splitsTotal, eventsCompared } = record;
  const { eventsTotal, bytesTotal } = record;
  const { bytesCompared, differences, differencesFound, startedAt, endedAt, reason } = record;
  return {
    verifyId,
    namespace,
    state,
    splitsDone,
    splitsTotal,
    eventsCompared,
    bytesCompared,
    eventsTotal,
    bytesTotal,
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
