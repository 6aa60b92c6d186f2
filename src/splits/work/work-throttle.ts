/**
 * Decides after each page of the work whether it may continue, and how soon.
 *
 * A pause, a new epoch that opens the time again or the end of the namespace stops the work within
 * one page. The throttle
 * checks this process's view each time, and the catalog a few times a second, because a view shows
 * changes of other processes late.
 */
import { readNamespace } from "../../records/namespace-records.ts";
import { isSealed } from "../../model/epochs.ts";
import type { FrozenRange } from "../../model/epochs.ts";
import type { Namespace } from "../../model/namespace.ts";
import type { SplitRecord } from "../../model/split.ts";
import { Interruption, reopened } from "./interruption.ts";
import type { SplitContext } from "./split-context.ts";
import { throttleMs } from "./throttle-ms.ts";

const ASK_MS = 250;

export class WorkThrottle {
  readonly #context: SplitContext;
  readonly #record: SplitRecord;
  readonly #range: FrozenRange;
  #namespace: Namespace;
  #askedAtMs: number;
  #pageAtMs: number;

  /**
   * `range`: the time that is worked on, and its epoch. `namespace`: as the catalog has it now.
   */
  constructor(
    context: SplitContext,
    record: SplitRecord,
    range: FrozenRange,
    namespace: Namespace,
  ) {
    this.#context = context;
    this.#record = record;
    this.#range = range;
    this.#namespace = namespace;
    this.#askedAtMs = context.clock.monotonicMs();
    this.#pageAtMs = this.#askedAtMs;
  }

  /** Rejects with an interruption: paused, reopened or gone. */
  async page(signal: AbortSignal): Promise<void> {
    const { views, clock, readLatencyMs } = this.#context;
    signal.throwIfAborted();
    const nowMs = clock.monotonicMs();
    const view = views.current(this.#record.namespace);
    if (view !== undefined) {
      this.#check(view.namespace);
      if (!view.slices.some(({ name }) => name === this.#record.partition.slice)) {
        throw gone(`slice ${this.#record.partition.slice}`);
      }
    }
    if (nowMs - this.#askedAtMs >= ASK_MS) await this.ask();
    const { targetMs } = this.#namespace.config.slos.read;
    const waitMs = throttleMs(readLatencyMs?.(), targetMs, nowMs - this.#pageAtMs);
    if (waitMs > 0) await clock.sleep(waitMs, signal);
    this.#pageAtMs = clock.monotonicMs();
    signal.throwIfAborted();
  }

  /** Checks the namespace in the catalog, and rejects like `page`. */
  async ask(): Promise<Namespace> {
    const { catalog, clock } = this.#context;
    const askedAtMs = clock.monotonicMs();
    const found = await readNamespace(catalog, this.#record.namespace);
    if (found?.phase !== "READY" || found.id !== this.#record.partition.namespaceId) {
      throw gone(`namespace ${this.#record.namespace}`);
    }
    this.#askedAtMs = askedAtMs;
    this.#namespace = found;
    this.#check(found);
    return found;
  }

  #check(namespace: Namespace): void {
    if (namespace.id !== this.#record.partition.namespaceId) return;
    if (namespace.splitsPaused !== null && namespace.version >= this.#namespace.version) {
      throw paused(namespace);
    }
    if (!isSealed(namespace.epochStarts, this.#range)) throw reopened();
  }
}

function paused({ splitsPaused }: Namespace): Interruption {
  const { by = "", reason = "" } = splitsPaused ?? {};
  return new Interruption("paused", `paused by ${by}${reason === "" ? "" : `: ${reason}`}`);
}

function gone(what: string): Interruption {
  return new Interruption("gone", `${what} is gone`);
}
