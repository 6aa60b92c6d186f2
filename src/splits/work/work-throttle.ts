/**
 * Asked after each page of the work: may it go on, and how soon?
 *
 * A pause, a new epoch or the end of the namespace stops the work within one page. The view of this
 * process is looked at each time, the catalog a few times a second: views of other processes' changes
 * come late.
 */
import { ServiceError } from "../../lib/errors.ts";
import { readNamespace } from "../../records/namespace-records.ts";
import type { Namespace } from "../../model/namespace.ts";
import type { SplitRecord } from "../../model/split.ts";
import type { SplitDeps } from "./split-deps.ts";
import { throttleMs } from "./throttle-ms.ts";

const ASK_MS = 250;

/** An operator has paused the namespace's splits. */
export class Paused extends Error {
  constructor(namespace: Namespace) {
    super(whyPaused(namespace));
    this.name = "Paused";
  }
}

/** The namespace has another epoch: what is being copied may be open again (rule C3). */
export class Reopened extends Error {
  constructor() {
    super("the namespace has begun another epoch: its sealed time is being opened again");
    this.name = "Reopened";
  }
}

/** Namespace or slice are no more: nothing is left to do, and nobody to be told. */
class Gone extends Error {
  constructor(what: string) {
    super(`${what} is gone`);
    this.name = "Gone";
  }
}

function whyPaused({ splitsPaused }: Namespace): string {
  if (splitsPaused === null) return "paused";
  const { by, reason } = splitsPaused;
  return `paused by ${by}${reason === "" ? "" : `: ${reason}`}`;
}

export class WorkThrottle {
  readonly #deps: SplitDeps;
  readonly #record: SplitRecord;
  #namespace: Namespace;
  #askedAtMs: number;
  #pageAtMs: number;

  /** `namespace`: as the catalog has it now. */
  constructor(deps: SplitDeps, record: SplitRecord, namespace: Namespace) {
    this.#deps = deps;
    this.#record = record;
    this.#namespace = namespace;
    this.#askedAtMs = deps.clock.monotonicMs();
    this.#pageAtMs = this.#askedAtMs;
  }

  /** Rejects with Paused, Reopened or Gone. */
  async page(signal: AbortSignal): Promise<void> {
    const { views, clock, readLatencyMs } = this.#deps;
    signal.throwIfAborted();
    const nowMs = clock.monotonicMs();
    const view = views.current(this.#record.namespace);
    if (view !== undefined) {
      this.#check(view.namespace);
      if (!view.slices.some(({ name }) => name === this.#record.partition.slice)) {
        throw new Gone(`slice ${this.#record.partition.slice}`);
      }
    }
    if (nowMs - this.#askedAtMs >= ASK_MS) await this.ask();
    const { targetMs } = this.#namespace.config.slos.read;
    const waitMs = throttleMs(readLatencyMs?.(), targetMs, nowMs - this.#pageAtMs);
    if (waitMs > 0) await clock.sleep(waitMs, signal);
    this.#pageAtMs = clock.monotonicMs();
    signal.throwIfAborted();
  }

  /** The same, with the catalog's word. */
  async ask(): Promise<Namespace> {
    const { catalog, clock } = this.#deps;
    const askedAtMs = clock.monotonicMs();
    const found = await readNamespace(catalog, this.#record.namespace);
    if (found?.phase !== "READY" || found.id !== this.#record.partition.namespaceId) {
      throw new Gone(`namespace ${this.#record.namespace}`);
    }
    this.#askedAtMs = askedAtMs;
    this.#namespace = found;
    this.#check(found);
    return found;
  }

  #check(namespace: Namespace): void {
    if (namespace.id !== this.#record.partition.namespaceId) return;
    if (namespace.splitsPaused !== null && namespace.version >= this.#namespace.version) {
      throw new Paused(namespace);
    }
    if (namespace.epoch > this.#record.epoch) throw new Reopened();
  }
}

export function isGone(error: unknown): boolean {
  return (
    error instanceof Gone || (error instanceof ServiceError && error.code === "NAMESPACE_NOT_FOUND")
  );
}
