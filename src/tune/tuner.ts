/**
 * Tunes every namespace from time to time, in one process at a time. A lease saves work; moves are
 * compare-and-set, so two tuners would do no harm.
 */
import { eachNamespace } from "../records/namespace-records.ts";
import { Leases } from "../records/lease.ts";
import type { Lease } from "../records/lease.ts";
import type { TuneContext } from "./tune-context.ts";
import { tuneNamespace } from "./tune-namespace.ts";

export interface TunerOptions extends TuneContext {
  readonly everyMs?: number;
  /** Called for a namespace that could not be tuned; "" for a whole round. */
  readonly onFailed?: (namespace: string, error: unknown) => void;
}

const LEASE = "tuner";
const EVERY_MS = 60_000;

export class Tuner {
  readonly #options: TunerOptions;

  constructor(options: TunerOptions) {
    this.#options = options;
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, everyMs = EVERY_MS, onFailed } = this.#options;
    const leases = new Leases(this.#options);
    let lease: Lease | undefined;
    while (!signal.aborted) {
      try {
        if (lease === undefined || lease.lost) lease = await leases.tryTake(LEASE);
        if (lease?.held === true) await this.runOnce(signal);
      } catch (error) {
        onFailed?.("", error);
      }
      await clock.sleep(everyMs, signal);
    }
    await lease?.release();
  }

  /** Tunes every namespace once. A failure in one does not keep the others from being tuned. */
  async runOnce(signal: AbortSignal): Promise<void> {
    for await (const { name, record } of eachNamespace(this.#options.catalog, signal)) {
      if (signal.aborted) return;
      if (record instanceof Error || record.phase !== "READY") continue;
      try {
        await tuneNamespace(this.#options, record);
      } catch (error) {
        this.#options.onFailed?.(name, error);
      }
    }
  }
}
