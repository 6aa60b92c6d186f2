/**
 * The history of a process's figures: the last ten minutes second by second, the last day minute
 * by minute. Nothing outlives the process.
 *
 * Its memory is bounded whatever the number of namespaces: a series takes 8 KB, the process has at
 * most about 150 and each of the 16 busiest namespaces 22, so that all of it stays below 5 MB. A
 * namespace that is busier than one of them takes its place, at the end of a minute.
 */
import { LRUCache } from "lru-cache";
import type { HistoryAnswer, HistoryQuery } from "../api/methods/metrics-history.ts";
import { SampleRing } from "../lib/sample-ring.ts";
import type { RingColumn, SampleRange } from "../lib/sample-ring.ts";
import type { Micros } from "../lib/time-units.ts";
import type { Figure } from "./figures.ts";

const SECOND = { stepMicros: 1_000_000, stepsMax: 600 } as const;
const MINUTE = { stepMicros: 60_000_000, stepsMax: 1_440 } as const;
const NAMESPACES_MAX = 16;
/** Namespaces without series whose reads and writes are counted, to find the busier ones. */
const CANDIDATES_MAX = 1_000;
/** The weight of the last minute in how busy a namespace is. */
const WEIGHT = 0.2;

/** What is kept, without the process it belongs to. */
export type History = Omit<HistoryAnswer, "process" | "startedAt">;

/** A figure with its places in both rings. */
interface Kept {
  readonly name: string;
  readonly figure: Figure;
  readonly seconds: readonly RingColumn[];
  readonly minutes: readonly RingColumn[];
}

/** The series of the process, or of one namespace. */
export class SeriesGroup {
  /** What its counters were before it first counted: 0, or NaN if nobody knows. */
  readonly before: number;
  readonly #history: MetricsHistory;
  readonly #kept = new Map<string, Kept>();
  /** Reads and writes since the last minute began, and of the minutes before. */
  active = 0;
  busy = 0;

  constructor(history: MetricsHistory, before: number) {
    this.#history = history;
    this.before = before;
  }

  /** The figure of that name, made when it is first asked for. Few names: they are never removed. */
  figure<F extends Figure>(name: string, make: () => F): F {
    const known = this.#kept.get(name);
    // A name always belongs to one kind of figure.
    if (known !== undefined) return known.figure as F;
    const figure = make();
    this.#kept.set(name, this.#history.keep(name, figure));
    return figure;
  }

  kept(): Iterable<Kept> {
    return this.#kept.values();
  }
}

export class MetricsHistory {
  readonly process: SeriesGroup = new SeriesGroup(this, 0);
  readonly #seconds = new SampleRing(SECOND.stepsMax);
  readonly #minutes = new SampleRing(MINUTE.stepsMax);
  readonly #namespaces = new Map<string, SeriesGroup>();
  readonly #candidates = new LRUCache<string, number>({ max: CANDIDATES_MAX });
  #minute: { readonly step: number; seconds: number } | undefined;

  /** The series of a namespace; undefined if others are busier. `activity`: reads and writes. */
  namespace(name: string, activity: number): SeriesGroup | undefined {
    const known = this.#namespaces.get(name);
    if (known !== undefined) {
      known.active += activity;
      return known;
    }
    if (this.#namespaces.size < NAMESPACES_MAX) {
      const group = new SeriesGroup(this, Number.NaN);
      group.active = activity;
      this.#namespaces.set(name, group);
      return group;
    }
    if (activity > 0) this.#candidates.set(name, (this.#candidates.get(name) ?? 0) + activity);
    return undefined;
  }

  /** For `SeriesGroup` alone. */
  keep(name: string, figure: Figure): Kept {
    const columns = (ring: SampleRing): RingColumn[] =>
      figure.parts.map(() => ring.add(figure.before));
    return { name, figure, seconds: columns(this.#seconds), minutes: columns(this.#minutes) };
  }

  /** Takes a sample of the second that ends now, the first after `seconds`. */
  sample(now: Micros, seconds: number): void {
    // A timer fires a little before or after its time.
    const step = Math.round(now / SECOND.stepMicros) - 1;
    const minuteStep = Math.floor((step * SECOND.stepMicros) / MINUTE.stepMicros);
    if (this.#minute !== undefined && this.#minute.step !== minuteStep) this.#endMinute();
    this.#minute ??= { step: minuteStep, seconds: 0 };
    this.#minute.seconds += seconds;
    this.#seconds.begin(step);
    for (const { figure, seconds: columns } of this.#all()) {
      const values = figure.second(seconds);
      columns.forEach((column, i) => this.#seconds.set(column, values[i] ?? Number.NaN));
    }
  }

  read({ resolution, namespace, series, since }: HistoryQuery): History {
    const [ring, { stepMicros }] =
      resolution === "SECOND" ? [this.#seconds, SECOND] : [this.#minutes, MINUTE];
    if (resolution === "MINUTE") this.#showMinute();
    const range = newerThan(ring.range, Math.ceil(since / stepMicros));
    const group = namespace === "" ? this.process : this.#namespaces.get(namespace);
    const read: History["series"][number][] = [];
    for (const { name, figure, seconds, minutes } of group?.kept() ?? []) {
      figure.parts.forEach((part, i) => {
        const full = part === "" ? name : `${name}.${part}`;
        const column = (resolution === "SECOND" ? seconds : minutes)[i];
        if (column === undefined || !isWanted(full, series)) return;
        read.push({ name: full, unit: figure.unit, values: ring.read(column, range) });
      });
    }
    return {
      stepMicros,
      start: range.count === 0 ? undefined : range.firstStep * stepMicros,
      samples: range.count,
      series: read.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      namespaces: [...this.#namespaces.keys()].toSorted(),
    };
  }

  /** The minute in progress is shown as far as it has come. */
  #showMinute(): void {
    if (this.#minute === undefined) return;
    const { step, seconds } = this.#minute;
    this.#minutes.begin(step);
    for (const { figure, minutes } of this.#all()) {
      const values = figure.minute(seconds);
      minutes.forEach((column, i) => this.#minutes.set(column, values[i] ?? Number.NaN));
    }
  }

  #endMinute(): void {
    this.#showMinute();
    this.#minute = undefined;
    for (const { figure } of this.#all()) figure.startMinute();
    this.#replaceIdlest();
  }

  /** At most one namespace a minute: places do not change hands for a moment's difference. */
  #replaceIdlest(): void {
    let idlest: [string, SeriesGroup] | undefined;
    for (const entry of this.#namespaces) {
      const group = entry[1];
      group.busy += WEIGHT * (group.active - group.busy);
      group.active = 0;
      if (idlest === undefined || group.busy < idlest[1].busy) idlest = entry;
    }
    let busiest: [string, number] | undefined;
    for (const entry of this.#candidates.entries()) {
      if (busiest === undefined || entry[1] > busiest[1]) busiest = entry;
    }
    this.#candidates.clear();
    if (idlest === undefined || busiest === undefined || busiest[1] <= idlest[1].busy) return;
    const [name, group] = idlest;
    for (const { seconds, minutes } of group.kept()) {
      for (const column of seconds) this.#seconds.remove(column);
      for (const column of minutes) this.#minutes.remove(column);
    }
    this.#namespaces.delete(name);
    const [newName, active] = busiest;
    const newcomer = new SeriesGroup(this, Number.NaN);
    newcomer.busy = active;
    this.#namespaces.set(newName, newcomer);
  }

  *#all(): Generator<Kept, void, undefined> {
    yield* this.process.kept();
    for (const group of this.#namespaces.values()) yield* group.kept();
  }
}

function newerThan({ firstStep, count }: SampleRange, since: number): SampleRange {
  const skipped = Math.min(count, Math.max(0, since - firstStep));
  return { firstStep: firstStep + skipped, count: count - skipped };
}

/** `read_latency.` is every series whose name begins so. */
function isWanted(name: string, wanted: readonly string[]): boolean {
  if (wanted.length === 0) return true;
  return wanted.some((each) => (each.endsWith(".") ? name.startsWith(each) : name === each));
}
