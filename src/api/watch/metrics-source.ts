/** New samples of the history, second by second. */
import { historyMessage } from "../methods/metrics-history.ts";
import type { MetricsHistoryUseCase } from "../methods/metrics-history.ts";
import type { SourceUpdate, WatchSource } from "./watch-source.ts";

/** What a new watcher gets of the past; GetMetricsHistory has the rest. */
const FIRST_SECONDS = 60;
const SECOND = 1_000_000;

export class MetricsSource implements WatchSource {
  readonly ready = true;
  readonly stale = "";
  readonly #history: MetricsHistoryUseCase;
  readonly #namespace: string;
  readonly #series: readonly string[];

  constructor(history: MetricsHistoryUseCase, namespace: string, series: readonly string[]) {
    this.#history = history;
    this.#namespace = namespace;
    this.#series = series;
  }

  watch(wake: () => void): () => void {
    return this.#history.onSample(wake);
  }

  throwIfFailed(): void {
    // It is in memory.
  }

  /** `seen` is the second of the last sample. */
  since(seen: number | undefined): SourceUpdate | undefined {
    const query = { resolution: "SECOND", namespace: this.#namespace, series: [] } as const;
    const { start: first, samples: all } = this.#history.read({
      ...query,
      series: ["."],
      since: 0,
    });
    if (first === undefined) return undefined;
    const last = first / SECOND + all - 1;
    if (seen === last) return undefined;
    // After the clock stepped back, or a gap longer than the history, the past is sent again.
    const known = seen !== undefined && seen < last && seen + 1 >= first / SECOND;
    const since = (known ? seen + 1 : last + 1 - FIRST_SECONDS) * SECOND;
    const history = this.#history.read({ ...query, series: this.#series, since });
    return { seen: last, fields: { metrics: historyMessage(history), snapshot: !known } };
  }

  changed(): void {
    // Samples come by themselves.
  }
}
