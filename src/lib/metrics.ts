/**
 * Counts and timings for Prometheus, in a registry of their own: nothing global.
 *
 * No metric can grow without a bound: combinations of label values beyond `SERIES_MAX` are counted
 * together under "other". Ids of time series are never labels.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

const SERIES_MAX = 2_000;
const OTHER = "other";

/** From the cost of a lookup in memory to that of a read that is given up. */
const SECONDS_BUCKETS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

export interface Count {
  /** Adds, under these label values, in the order of the labels. */
  add(amount: number, ...values: string[]): void;
}

export interface Timing {
  observe(value: number, ...values: string[]): void;
}

export class Metrics {
  readonly #registry = new Registry();

  /** The process itself: memory, processor time, garbage collection, delay of the event loop. */
  addProcess(): void {
    collectDefaultMetrics({ register: this.#registry });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** In the format Prometheus scrapes. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  counter(name: string, help: string, labels: readonly string[] = []): Count {
    const counter = new Counter({ name, help, labelNames: labels, registers: [this.#registry] });
    const child = boundedChildren(labels, (values) => counter.labels(values));
    return { add: (amount, ...values) => child(values).inc(amount) };
  }

  histogram(
    name: string,
    help: string,
    labels: readonly string[],
    buckets: number[] = SECONDS_BUCKETS,
  ): Timing {
    const histogram = new Histogram({
      name,
      help,
      labelNames: labels,
      buckets,
      registers: [this.#registry],
    });
    const child = boundedChildren(labels, (values) => histogram.labels(values));
    return { observe: (value, ...values) => child(values).observe(value) };
  }

  /** Values that are asked for when they are scraped; beyond a bound the rest is added up. */
  gauges(
    name: string,
    help: string,
    labels: readonly string[],
    read: () => Iterable<LabelledValue>,
  ): void {
    void new Gauge({
      name,
      help,
      labelNames: labels,
      registers: [this.#registry],
      collect() {
        this.reset();
        let shown = 0;
        let rest = 0;
        for (const { value, labels: values } of read()) {
          if (shown++ < SERIES_MAX) this.set(labelsOf(labels, values), value);
          else rest += value;
        }
        const others = labels.map(() => OTHER);
        if (shown > SERIES_MAX) this.set(labelsOf(labels, others), rest);
      },
    });
  }

  /** A value that is asked for when it is scraped. */
  gauge(name: string, help: string, read: () => number): void {
    // The gauge lives in the registry: nobody else needs it.
    void new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }
}

/** A value under its labels, in their order. */
export interface LabelledValue {
  readonly value: number;
  readonly labels: readonly string[];
}

/** Finding a child by its labels is most of the cost of counting, so children are kept. */
function boundedChildren<C>(
  labels: readonly string[],
  make: (values: Record<string, string>) => C,
): (values: readonly string[]) => C {
  const children = new Map<string, C>();
  const childOf = (values: readonly string[]): C => {
    const key = values.length === 1 ? (values[0] as string) : values.join("\u0000");
    const known = children.get(key);
    if (known !== undefined) return known;
    if (children.size >= SERIES_MAX && values[0] !== OTHER) return childOf(labels.map(() => OTHER));
    const child = make(labelsOf(labels, values));
    children.set(key, child);
    return child;
  };
  return childOf;
}

function labelsOf(labels: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(labels.map((label, i) => [label, values[i] ?? ""]));
}
