/**
 * Counts and timings for Prometheus, in a registry of their own: nothing is global.
 *
 * No metric grows without a bound. Time series ids are never labels. The first `NAMESPACES_MAX`
 * namespaces have series of their own; the others share one, `_other`. A combination of label
 * values beyond `SERIES_MAX` is counted there too. A namespace's counters exist at zero from the
 * moment it is known, so that an alert sees their first increase, and disappear with it.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { assert } from "./errors.ts";

const NAMESPACES_MAX = 200;
const SERIES_MAX = 10_000;
/** No namespace can have this name. */
const OTHER = "_other";

/** From the cost of a lookup in memory to the timeout of a read. */
const SECONDS_BUCKETS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

/** Gauges whose names end like those of counters; `promtool check metrics` refuses these. */
const MISNAMED = [
  "nodejs_active_resources_total",
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
];

export interface Label<V extends string = string> {
  readonly name: string;
  /** All possible values; undefined where they are not a short list. */
  readonly values: readonly V[] | undefined;
}

export const NAMESPACE: Label = { name: "namespace", values: undefined };

/** A label without a list of values; whatever they name bounds their number. */
export function openLabel<V extends string = string>(name: string): Label<V> {
  return { name, values: undefined };
}

/** A label with a list of all its values. */
export function label<V extends string>(name: string, values: readonly V[]): Label<V> {
  for (const value of values) assert(/^\S+$/.test(value), `label value "${value}" has no space`);
  return { name, values };
}

/**
 * All values of a union, given as the keys of a record so that the compiler notices a missing one.
 */
export function allOf<V extends string>(values: Readonly<Record<V, 0>>): V[] {
  return Object.keys(values) as V[]; // The keys are V by the type of the record.
}

/** One value for each label, in the order of the labels. */
type ValuesOf<L extends readonly Label[]> = {
  readonly [I in keyof L]: L[I] extends Label<infer V> ? V : never;
};

export interface Count<L extends readonly Label[] = readonly Label[]> {
  /** Adding 0 makes the series exist. */
  add(amount: number, ...values: ValuesOf<L>): void;
}

export interface Timing<L extends readonly Label[] = readonly Label[]> {
  observe(value: number, ...values: ValuesOf<L>): void;
}

/** Calls `listener` with everything that is counted or timed from now on. It must be cheap. */
export interface Tapped<L extends readonly Label[] = readonly Label[]> {
  tap(listener: (amount: number, values: ValuesOf<L>) => void): void;
}

/** A value computed at each scrape; 0 until its source is set. */
export interface LazyGauge {
  from(read: () => number): void;
  value(): number;
}

/** Labelled values computed at each scrape; none until their source is set. */
export interface LazyGauges<L extends readonly Label[] = readonly Label[]> {
  from(read: () => Iterable<LabelledValue<L>>): void;
}

/** A value and its label values, in the order of the labels. */
export interface LabelledValue<L extends readonly Label[] = readonly Label[]> {
  readonly value: number;
  readonly labels: ValuesOf<L>;
}

export interface CounterOptions {
  /**
   * The values of a label for which the counter exists at zero, where not all of them, for each
   * namespace. A counter without a namespace has them from the start.
   */
  readonly zeroAt?: Readonly<Record<string, readonly string[]>>;
  readonly formerly?: string;
}

/** A declared metric, for the document that lists them. */
export interface Declaration {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly Label[];
  /** The name in the previous version, which is still exported beside the new one. */
  readonly formerly: string | undefined;
}

/** The series of one metric, by their label values. */
interface Series {
  zero(namespace: string | undefined): void;
  forget(namespace: string): void;
}

export class Metrics {
  readonly #registry = new Registry();
  readonly #declared: Declaration[] = [];
  readonly #series: Series[] = [];
  readonly #namespaces = new Set<string>();

  /** Metrics of the process: memory, processor time, garbage collection, event loop delay. */
  addProcess(): void {
    collectDefaultMetrics({ register: this.#registry });
    for (const name of MISNAMED) this.#registry.removeSingleMetric(name);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** In Prometheus's text format. */
  async text(): Promise<string> {
    const texts = [await this.#registry.metrics()];
    for (const { name, formerly } of this.#declared) {
      if (formerly === undefined) continue;
      const text = await this.#registry.getSingleMetricAsString(name);
      const renamed = text.replaceAll(new RegExp(`^(# \\w+ )?${name}`, "gm"), `$1${formerly}`);
      const help = `# HELP ${formerly} Former name of ${name}; the next version drops it.`;
      texts.push(`${renamed.replace(/^# HELP .*$/m, help)}\n`);
    }
    return texts.join("\n");
  }

  declared(): readonly Declaration[] {
    return this.#declared;
  }

  /** The namespaces that have series of their own. */
  namespaces(): ReadonlySet<string> {
    return new Set(this.#namespaces);
  }

  /** From now on its counters exist, at zero until something is counted. */
  addNamespace(name: string): void {
    if (this.#namespaces.has(name) || this.#namespaces.size >= NAMESPACES_MAX) return;
    this.#namespaces.add(name);
    for (const series of this.#series) series.zero(name);
  }

  /** Removes its series; they return if something is counted for it. */
  removeNamespace(name: string): void {
    if (!this.#namespaces.delete(name)) return;
    for (const series of this.#series) series.forget(name);
  }

  counter<const L extends readonly Label[]>(
    name: string,
    help: string,
    labels: L,
    { zeroAt = {}, formerly }: CounterOptions = {},
  ): Count<L> & Tapped<L> {
    this.#declared.push({ name, type: "counter", labels, formerly });
    const counter = new Counter({
      name,
      help,
      labelNames: namesOf(labels),
      registers: [this.#registry],
    });
    const child = this.#children(labels, counter, zeroAt, (each) => each.inc(0));
    const { tap, told } = taps<L>();
    return {
      add: (amount, ...values) => {
        child(values).inc(amount);
        told(amount, values);
      },
      tap,
    };
  }

  histogram<const L extends readonly Label[]>(
    name: string,
    help: string,
    labels: L,
    {
      buckets = SECONDS_BUCKETS,
      formerly,
    }: { readonly buckets?: number[]; readonly formerly?: string } = {},
  ): Timing<L> & Tapped<L> {
    this.#declared.push({ name, type: "histogram", labels, formerly });
    const histogram = new Histogram({
      name,
      help,
      labelNames: namesOf(labels),
      buckets,
      registers: [this.#registry],
    });
    const child = this.#children(labels, histogram, {}, undefined);
    const { tap, told } = taps<L>();
    return {
      observe: (value, ...values) => {
        child(values).observe(value);
        told(value, values);
      },
      tap,
    };
  }

  gauge(name: string, help: string, formerly?: string): LazyGauge {
    this.#declared.push({ name, type: "gauge", labels: [], formerly });
    let readNow = (): number => 0;
    // The registry holds the gauge; no other code needs it.
    void new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(readNow());
      },
    });
    return {
      from: (read) => {
        readNow = read;
      },
      value: () => readNow(),
    };
  }

  /** Values beyond the bound are added up in one series. */
  gauges<const L extends readonly Label[]>(name: string, help: string, labels: L): LazyGauges<L> {
    this.#declared.push({ name, type: "gauge", labels, formerly: undefined });
    const { collect, from } = this.#lazily(labels);
    const [labelNames, registers] = [namesOf(labels), [this.#registry]];
    void new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        collect(this);
      },
    });
    return { from };
  }

  /** Totals that another process counts, read at each scrape; they may start again at zero. */
  totals<const L extends readonly Label[]>(name: string, help: string, labels: L): LazyGauges<L> {
    this.#declared.push({ name, type: "counter", labels, formerly: undefined });
    const { collect, from } = this.#lazily(labels);
    const [labelNames, registers] = [namesOf(labels), [this.#registry]];
    void new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        collect(this);
      },
    });
    return { from };
  }

  /** `collect` sets a metric to the values that the source of `from` has at that moment. */
  #lazily<const L extends readonly Label[]>(labels: L) {
    let readNow = (): Iterable<LabelledValue<L>> => [];
    return {
      from: (read: () => Iterable<LabelledValue<L>>): void => {
        readNow = read;
      },
      collect: (metric: {
        reset(): void;
        inc(labels: Record<string, string>, value: number): void;
      }): void => {
        metric.reset();
        let shown = 0;
        for (const { value, labels: values } of readNow()) {
          const within = shown++ < SERIES_MAX;
          const named = within ? this.#bounded(labels, values) : labels.map(() => OTHER);
          metric.inc(labelsOf(labels, named), value);
        }
      },
    };
  }

  /** Looking up a child by its labels is most of the cost of counting, so children are cached. */
  #children<C>(
    labels: readonly Label[],
    metric: {
      labels(values: Record<string, string>): C;
      remove(values: Record<string, string>): void;
    },
    zeroAt: Readonly<Record<string, readonly string[]>>,
    setZero: ((child: C) => void) | undefined,
  ): (values: readonly string[]) => C {
    const children = new Map<string, { readonly child: C; readonly values: readonly string[] }>();
    const at = labels.indexOf(NAMESPACE);
    const childOf = (values: readonly string[]): C => {
      const key = values.length === 1 ? (values[0] as string) : values.join("\u0000");
      const known = children.get(key);
      if (known !== undefined) return known.child;
      if (at >= 0 && values[at] !== "") this.addNamespace(values[at] as string);
      const bounded = this.#bounded(labels, values);
      if (bounded !== values) return childOf(bounded);
      if (children.size >= SERIES_MAX && values[0] !== OTHER) {
        return childOf(labels.map(() => OTHER));
      }
      const child = metric.labels(labelsOf(labels, values));
      children.set(key, { child, values });
      return child;
    };
    const series: Series = {
      zero: (namespace) => {
        if (setZero === undefined || at >= 0 !== (namespace !== undefined)) return;
        const choices = labels.map((each, i) =>
          i === at ? [namespace ?? ""] : (zeroAt[each.name] ?? each.values ?? []),
        );
        for (const values of combinationsOf(choices)) setZero(childOf(values));
      },
      forget: (namespace) => {
        for (const [key, { values }] of at < 0 ? [] : children) {
          if (values[at] !== namespace) continue;
          children.delete(key);
          metric.remove(labelsOf(labels, values));
        }
      },
    };
    this.#series.push(series);
    series.zero(undefined);
    for (const namespace of this.#namespaces) series.zero(namespace);
    return childOf;
  }

  /** The same values, with `_other` for a namespace beyond the bound. */
  #bounded(labels: readonly Label[], values: readonly string[]): readonly string[] {
    const at = labels.indexOf(NAMESPACE);
    const namespace = values[at];
    if (namespace === undefined || namespace === "" || namespace === OTHER) return values;
    if (this.#namespaces.has(namespace) || this.#namespaces.size < NAMESPACES_MAX) return values;
    return values.map((value, i) => (i === at ? OTHER : value));
  }
}

function taps<L extends readonly Label[]>(): Tapped<L> & {
  told(amount: number, values: ValuesOf<L>): void;
} {
  const listeners: ((amount: number, values: ValuesOf<L>) => void)[] = [];
  return {
    tap: (listener) => void listeners.push(listener),
    told: (amount, values) => {
      for (const listener of listeners) listener(amount, values);
    },
  };
}

function namesOf(labels: readonly Label[]): string[] {
  return labels.map(({ name }) => name);
}

function labelsOf(labels: readonly Label[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(labels.map(({ name }, i) => [name, values[i] ?? ""]));
}

function combinationsOf(choices: readonly (readonly string[])[]): string[][] {
  return choices.reduce<string[][]>(
    (all, values) => all.flatMap((before) => values.map((value) => [...before, value])),
    [[]],
  );
}
