/**
 * Gathers the results of comparisons and adds them to the namespaces' evidence every few seconds.
 *
 * If a write fails, it keeps the results and tries again. A process that dies loses the results
 * since the last write, which only means that more reads must be compared.
 */
import type { Clock } from "../../lib/clock.ts";
import { addEvidence } from "../record/read-modes.ts";
import { kindName, kindOf } from "../../model/split-kind.ts";
import type { Evidence } from "../../model/read-mode.ts";
import type { RouteSegment } from "../../model/split.ts";
import type { Catalog } from "../../ports/catalog.ts";

export interface EvidenceOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly trouble: (what: string, error: unknown) => void;
  readonly everyMs?: number;
}

interface Gathered {
  readonly namespaceId: string;
  readonly evidence: Evidence;
}

const EVERY_MS = 3_000;
/**
 * Kinds of splits in all namespaces together; beyond it, other kinds are dropped until the next
 * write.
 */
const GATHERED_MAX = 10_000;

export class EvidenceFlusher {
  readonly #options: EvidenceOptions;
  #gathered = new Map<string, Gathered>();

  constructor(options: EvidenceOptions) {
    this.#options = options;
  }

  add(
    namespaceId: string,
    round: number,
    segment: RouteSegment,
    seen: { readonly matched: number } | { readonly differed: number },
  ): void {
    this.#merge({
      namespaceId,
      evidence: {
        ...kindOf(segment),
        round,
        readsCompared: 1,
        bytesMatched: "matched" in seen ? seen.matched : 0,
        bytesDiffered: "differed" in seen ? seen.differed : 0,
        since: this.#options.clock.nowMicros(),
      },
    });
  }

  /** Writes the gathered results. Never rejects. */
  async flush(): Promise<void> {
    const { catalog, trouble } = this.#options;
    const gathered = this.#gathered;
    this.#gathered = new Map();
    for (const each of gathered.values()) {
      try {
        await addEvidence(catalog, each.namespaceId, each.evidence);
      } catch (error) {
        trouble("evidence could not be written; it is tried again", error);
        this.#merge(each);
      }
    }
  }

  /** Flushes until the signal aborts, and once more then. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(this.#options.everyMs ?? EVERY_MS, signal);
      await this.flush();
    }
  }

  #merge({ namespaceId, evidence }: Gathered): void {
    const key = `${namespaceId}|${evidence.round}|${kindName(evidence)}`;
    const known = this.#gathered.get(key)?.evidence;
    if (known === undefined && this.#gathered.size >= GATHERED_MAX) return;
    const sum: Evidence = {
      ...evidence,
      readsCompared: evidence.readsCompared + (known?.readsCompared ?? 0),
      bytesMatched: evidence.bytesMatched + (known?.bytesMatched ?? 0),
      bytesDiffered: evidence.bytesDiffered + (known?.bytesDiffered ?? 0),
      since: Math.min(evidence.since, known?.since ?? evidence.since),
    };
    this.#gathered.set(key, { namespaceId, evidence: sum });
  }
}
