/**
 * Reads a workload from a YAML or JSON file and from flags; flags win.
 *
 * A number may have a unit (`1M`, `4KiB`, `30d`) and may be an estimate: `500k,1M,3M@0.8` is low,
 * mid, high and the confidence, the same as a map with these names. All problems are reported
 * together.
 */
import type { WorkloadDescription } from "../../client/connect.ts";
import type { EstimateInput, WorkloadInput } from "../provision/workload.ts";
import { UsageError } from "./failures.ts";

type Unit = "number" | "bytes" | "seconds";

interface EstimateField {
  readonly unit: Unit;
  readonly flag: string;
  readonly about: string;
  /** The field of the API, where its name says the unit. */
  readonly as?: keyof WorkloadInput;
}

/** Fields that are estimates, by their name in a file. */
const ESTIMATES: Readonly<Record<string, EstimateField>> = {
  ids: { unit: "number", flag: "--ids", about: "how many ids have events" },
  eventsPerDayPerId: {
    unit: "number",
    flag: "--events-per-day",
    about: "events of an id in a day, the mean over all ids",
  },
  eventBytes: {
    unit: "bytes",
    flag: "--event-bytes",
    about: "size of an event with its ids (default: 1KiB)",
  },
  burstiness: {
    unit: "number",
    flag: "--burstiness",
    about: "rate of the busiest hour of a day divided by the mean rate (default: 2)",
  },
  readInterval: {
    unit: "seconds",
    flag: "--read-interval",
    about: "how far a read reaches back (default: 1d)",
    as: "readIntervalSeconds",
  },
  eventsPerRead: {
    unit: "number",
    flag: "--events-per-read",
    about: "events after which a read ends (default: 1000)",
  },
  readsPerSecond: {
    unit: "number",
    flag: "--reads-per-second",
    about: "reads of all ids (default: 10,100,1000@0.9)",
  },
  writesPerSecond: {
    unit: "number",
    flag: "--writes-per-second",
    about: "for machines (default: ids times events a day)",
  },
  growthPercentPerMonth: {
    unit: "number",
    flag: "--growth",
    about: "growth of the number of ids, in percent a month (default: 0)",
  },
  compressionRatio: {
    unit: "number",
    flag: "--compression",
    about: "bytes on disk per byte of events (default: 0.3,0.5,0.8@0.9)",
  },
};

const WHOLE_NUMBERS: Readonly<Record<string, { flag: string; about: string }>> = {
  replication: { flag: "--replication", about: "copies of each event (default: 3)" },
  zones: { flag: "--zones", about: "zones, of which one may be lost (default: 3)" },
  horizonMonths: {
    flag: "--horizon-months",
    about: "the machines are enough for this long (default: 12)",
  },
};

const DURATIONS: Readonly<
  Record<string, { flag: string; about: string; as: keyof WorkloadInput }>
> = {
  retention: {
    flag: "--retention",
    about: "how long events can be read (default: 15d)",
    as: "retentionSeconds",
  },
  acceptLimit: {
    flag: "--accept-limit",
    about: "how late an event may be (default: 10m)",
    as: "acceptLimitSeconds",
  },
};

const FLAGS = { ...ESTIMATES, ...WHOLE_NUMBERS, ...DURATIONS } as Readonly<
  Record<string, { flag: string; about: string }>
>;

/** The flags of a workload, as `[flags, about]`. */
export function workloadFlags(): readonly (readonly [string, string])[] {
  return [
    ...Object.values(FLAGS).map(({ flag, about }) => [`${flag} <value>`, about] as const),
    [
      "--skew <value>",
      "EVEN, LOGNORMAL:1.2, ZIPF:1, PARETO:1.5, or percentiles: p50=10,p99=200,p100=1M",
    ],
    ["--consistency <level>", "READ_YOUR_WRITES or EVENTUAL"],
  ];
}

/**
 * From a file's content, if there is one, and from flags. A field that cannot be read becomes a
 * problem, and has a value that no later check complains about.
 */
export async function workloadFrom(
  content: unknown,
  flags: Readonly<Record<string, unknown>>,
  problems: string[],
): Promise<WorkloadInput> {
  const { parseBytes, parseDurationMs } = await import("../lib/units.ts");
  return new WorkloadReader(parseBytes, parseDurationMs, problems).read(content, flags);
}

/** Rejects with all problems of the workload, also those that the server would report. */
export async function checkedWorkload(content: unknown): Promise<WorkloadInput> {
  const problems: string[] = [];
  const input = await workloadFrom(content, {}, problems);
  // What a sample gives is not known yet, so the server checks a workload that can be read.
  if (problems.length === 0) return input;
  const { Problems } = await import("../lib/problems.ts");
  const { checkWorkload } = await import("../provision/check-workload.ts");
  const others = new Problems();
  checkWorkload(input, others);
  throw new UsageError([...problems, ...others.list().map(inFileNames)].join("\n  "));
}

/** The API's names of fields in a message, as a file and the flags have them. */
export function inFileNames(message: string): string {
  return message.replace(/^workload\./, "").replaceAll("readIntervalSeconds", "readInterval");
}

/** As the API has it. */
export function workloadJson(input: WorkloadInput): WorkloadDescription {
  const { retentionSeconds, acceptLimitSeconds, slos, skew, ...numbers } = input;
  const latency = (given: { targetMs?: number | undefined; maxMs?: number | undefined }) => ({
    ...(given.targetMs !== undefined && { target: `${given.targetMs / 1_000}s` }),
    ...(given.maxMs !== undefined && { max: `${given.maxMs / 1_000}s` }),
  });
  return {
    ...numbers,
    ...(skew !== undefined && { skew }),
    ...(retentionSeconds !== undefined && { retention: `${retentionSeconds}s` }),
    ...(acceptLimitSeconds !== undefined && { acceptLimit: `${acceptLimitSeconds}s` }),
    ...(slos !== undefined && {
      slos: {
        ...(slos.read !== undefined && { read: latency(slos.read) }),
        ...(slos.write !== undefined && { write: latency(slos.write) }),
      },
    }),
  };
}

type Tree = Readonly<Record<string, unknown>>;
type Parse = (text: string) => number | undefined;

class WorkloadReader {
  readonly #problems: string[];
  readonly #parseBytes: Parse;
  readonly #parseDurationMs: Parse;

  constructor(parseBytes: Parse, parseDurationMs: Parse, problems: string[]) {
    this.#parseBytes = parseBytes;
    this.#parseDurationMs = parseDurationMs;
    this.#problems = problems;
  }

  read(content: unknown, flags: Tree): WorkloadInput {
    const input: Record<string, unknown> = {};
    if (content !== undefined && content !== null) {
      if (isTree(content)) this.#readFile(content, input);
      else this.#problems.push("the file is not a map of a workload's fields");
    }
    for (const [name, { flag }] of Object.entries(FLAGS)) {
      const value = flags[camelCase(flag.slice(2))];
      if (typeof value === "string") this.#field(name, value, flag, input);
    }
    for (const name of ["skew", "consistency"]) {
      const value = flags[name];
      if (typeof value === "string") this.#field(name, value, `--${name}`, input);
    }
    return input;
  }

  #readFile(content: Tree, input: Record<string, unknown>): void {
    for (const [name, value] of Object.entries(content)) {
      const field = camelCase(name);
      // The API's names, which say the unit.
      if (field === "readIntervalSeconds") this.#estimate(field, "number", value, name, input);
      else this.#field(field, value, name, input);
    }
  }

  /** A field with a problem gets a value that is sound, or none. */
  #field(field: string, value: unknown, name: string, input: Record<string, unknown>): void {
    const before = this.#problems.length;
    this.#readField(field, value, name, input);
    if (this.#problems.length === before) return;
    const estimate = ESTIMATES[field];
    if (estimate !== undefined) input[estimate.as ?? field] = { mid: 1 };
    else if (field === "skew") input[field] = { distribution: "EVEN" };
    else delete input[DURATIONS[field]?.as ?? field];
  }

  #readField(field: string, value: unknown, name: string, input: Record<string, unknown>): void {
    const estimate = ESTIMATES[field];
    const duration = DURATIONS[field];
    if (estimate !== undefined) {
      this.#estimate(estimate.as ?? field, estimate.unit, value, name, input);
    } else if (duration !== undefined) {
      input[duration.as] = this.#number("seconds", value, name);
    } else if (field in WHOLE_NUMBERS) {
      input[field] = this.#number("number", value, name);
    } else if (field === "skew") {
      input[field] = this.#skew(value, name);
    } else if (field === "slos") {
      input[field] = this.#slos(value, name);
    } else if (field === "consistency") {
      const level = String(value).toUpperCase();
      if (level === "READ_YOUR_WRITES" || level === "EVENTUAL") input[field] = level;
      else this.#problems.push(`${name}: must be READ_YOUR_WRITES or EVENTUAL`);
    } else {
      const known = [...Object.keys(FLAGS), "skew", "slos", "consistency"];
      this.#problems.push(`${name}: not a field of a workload; there are ${known.join(", ")}`);
    }
  }

  #estimate(
    field: string,
    unit: Unit,
    value: unknown,
    name: string,
    input: Record<string, unknown>,
  ): void {
    input[field] = this.#estimateOf(unit, value, name);
  }

  #estimateOf(unit: Unit, value: unknown, name: string): EstimateInput {
    if (isTree(value)) {
      const unknown = Object.keys(value).filter((key) => !PARTS.has(key));
      if (unknown.length > 0)
        this.#problems.push(`${name}: has ${unknown.join(", ")}; ${ESTIMATE}`);
      return {
        ...this.#part("low", unit, value["low"], name),
        ...this.#part("mid", unit, value["mid"], name),
        ...this.#part("high", unit, value["high"], name),
        ...this.#part("confidence", "number", value["confidence"], name),
      };
    }
    if (typeof value !== "string") return { mid: this.#number(unit, value, name) };
    const [numbers = "", confidence] = value.split("@");
    const values = numbers.split(",").map((text) => this.#number(unit, text.trim(), name));
    const [low, mid, high] = values;
    const sure =
      confidence === undefined ? {} : { confidence: this.#number("number", confidence, name) };
    if (values.length === 1) return { mid: low, ...sure };
    if (values.length !== 3) this.#problems.push(`${name} ${value}: ${ESTIMATE}`);
    return { low, mid, high, ...sure };
  }

  #part(part: keyof EstimateInput, unit: Unit, value: unknown, name: string): EstimateInput {
    return value === undefined ? {} : { [part]: this.#number(unit, value, `${name}.${part}`) };
  }

  #skew(value: unknown, name: string): WorkloadInput["skew"] {
    if (typeof value === "string") return this.#skewText(value, name);
    if (!isTree(value)) {
      this.#problems.push(`${name}: ${SKEW}`);
      return undefined;
    }
    const { distribution, parameter, percentiles, ...others } = value;
    const named = distribution === undefined || typeof distribution === "string";
    if (Object.keys(others).length > 0 || !named) this.#problems.push(`${name}: ${SKEW}`);
    return {
      ...(typeof distribution === "string" && { distribution: distribution.toUpperCase() }),
      ...(parameter !== undefined && {
        parameter: this.#estimateOf("number", parameter, `${name}.parameter`),
      }),
      ...(percentiles !== undefined && {
        percentiles: this.#percentiles(percentiles, `${name}.percentiles`),
      }),
    };
  }

  /** `ZIPF:1`, or `p50=10,p99=200`. */
  #skewText(value: string, name: string): WorkloadInput["skew"] {
    if (value.includes("=")) {
      const entries = value.split(",").map((each) => each.trim().replace(/^p/, "").split("="));
      return { percentiles: this.#percentiles(Object.fromEntries(entries), name) };
    }
    const [given = "", parameter] = value.split(":");
    const distribution = given.toUpperCase();
    if (parameter === undefined) return { distribution };
    return { distribution, parameter: this.#estimateOf("number", parameter, name) };
  }

  /** A map of percentiles, or the API's list. */
  #percentiles(value: unknown, name: string): { percentile: number; eventsPerDay: number }[] {
    const entries: unknown[] = Array.isArray(value)
      ? value
      : isTree(value)
        ? Object.entries(value).map(([key, rate]) => {
            return { percentile: key.replace(/^p/, ""), eventsPerDay: rate };
          })
        : [undefined];
    return entries.map((entry) => {
      if (!isTree(entry)) this.#problems.push(`${name}: ${SKEW}`);
      const { percentile, eventsPerDay } = isTree(entry) ? entry : {};
      return {
        percentile: this.#number("number", percentile, name),
        eventsPerDay: this.#number("number", eventsPerDay, name),
      };
    });
  }

  #slos(value: unknown, name: string): WorkloadInput["slos"] {
    const latency = (given: unknown, field: string): object | undefined => {
      if (given === undefined) return undefined;
      if (!isTree(given)) {
        this.#problems.push(`${field}: give target and max, such as 100ms and 1s`);
        return undefined;
      }
      const ms = (text: unknown, part: string): number =>
        this.#number("seconds", text, `${field}.${part}`) * 1_000;
      const { target, max } = given;
      return {
        ...(target !== undefined && { targetMs: ms(target, "target") }),
        ...(max !== undefined && { maxMs: ms(max, "max") }),
      };
    };
    if (!isTree(value)) {
      this.#problems.push(`${name}: give read and write, each with target and max`);
      return undefined;
    }
    return {
      read: latency(value["read"], `${name}.read`),
      write: latency(value["write"], `${name}.write`),
    };
  }

  #number(unit: Unit, value: unknown, name: string): number {
    const text = String(value).trim();
    const plain = parseCount(text);
    if (unit === "seconds") {
      const ms = this.#parseDurationMs(text);
      if (ms !== undefined) return ms / 1_000;
    } else if (unit === "bytes") {
      const bytes = this.#parseBytes(text) ?? plain;
      if (bytes !== undefined) return bytes;
    } else if (plain !== undefined) return plain;
    this.#problems.push(`${name} ${text.slice(0, 60)}: not ${UNITS[unit]}`);
    return 1;
  }
}

const PARTS = new Set(["low", "mid", "high", "confidence"]);
const ESTIMATE = "give one number, low,mid,high, or low,mid,high@confidence";
const SKEW = "give a distribution with its parameter, or percentiles with events a day";
const UNITS: Readonly<Record<Unit, string>> = {
  number: "a number, such as 250, 1.5, 20k or 3M",
  bytes: "a size, such as 4KiB",
  seconds: "a duration, such as 90s, 6h or 30d",
};

const COUNT_UNITS: Readonly<Record<string, number>> = { "": 1, k: 1e3, M: 1e6, G: 1e9 };

/** `250`, `1.5`, `-2`, `1e6`, `20k`, `3M`; undefined if it is not a number. */
function parseCount(text: string): number | undefined {
  const match = /^(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)([kMG]?)$/.exec(text);
  if (match === null) return undefined;
  return Number(match[1]) * (COUNT_UNITS[match[2] ?? ""] ?? 1);
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function camelCase(name: string): string {
  return name.replace(/[-_]([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
