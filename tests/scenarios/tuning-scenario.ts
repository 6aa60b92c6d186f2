/**
 * The commands of the texts in `tuning/`: a namespace whose slices are sealed and walked day by day,
 * with traffic that is a formula, and a tuner.
 */
import { systemRandom } from "../../src/lib/random.ts";
import { formatBytes } from "../../src/lib/units.ts";
import type { NamespaceConfigPatch } from "../../src/model/merge-config.ts";
import { NO_TUNING_TEXTS } from "../../src/model/no-tuning.ts";
import { grownBuckets } from "../../src/model/partition.ts";
import type { SliceHistogram } from "../../src/model/slice-histogram.ts";
import type { TimeSlice } from "../../src/model/time-slice.ts";
import type { TunedSizes, Tuning } from "../../src/model/tuning.ts";
import { SliceOwnership } from "../../src/namespaces/slice-ownership.ts";
import { setPartitioning } from "../../src/namespaces/set-partitioning.ts";
import { readHistograms, writeHistogram } from "../../src/records/histogram-records.ts";
import { readReadyNamespace } from "../../src/records/namespace-records.ts";
import { noteReadAt } from "../../src/records/read-activity-records.ts";
import { readSlices } from "../../src/records/slice-records.ts";
import { readTunings } from "../../src/records/tuning-records.ts";
import type { TuneContext } from "../../src/tune/tune-context.ts";
import { tuneNamespace } from "../../src/tune/tune-namespace.ts";
import { Tunings } from "../../src/tune/tunings.ts";
import { ControlFixture, DAY, HOUR, never } from "../support/control-fixture.ts";
import type { ControlProcess } from "../support/control-fixture.ts";
import { simulatedHistogram } from "../support/simulated-traffic.ts";
import type { Traffic } from "../support/simulated-traffic.ts";
import type { Arguments } from "./scenario-commands.ts";

const NAME = "plays";
/** One id writes 3 MiB an hour, which fits buckets of an hour. */
const STEADY: Traffic = { ids: 2_000, bytesPerDay: 24 * 3 * 2 ** 20, spread: 0.3, eventBytes: 500 };

export class TuningScenario {
  readonly #control = new ControlFixture();
  readonly #process: ControlProcess;
  readonly #context: TuneContext;
  readonly #tunings: Tunings;
  /** What the tuner logged and was not reported yet. */
  #log: string[] = [];
  /** What each slice that has ended holds, by name. */
  readonly #written = new Map<string, { traffic: Traffic; level: number }>();
  #read = true;
  #inDoubt = false;

  constructor() {
    const control = this.#control;
    const { catalog, clock, margins, store } = control;
    this.#process = control.start();
    const { time } = this.#process;
    const inDoubt = (): boolean => this.#inDoubt;
    const changed = (): Promise<void> => Promise.resolve();
    const ownership = new SliceOwnership({ catalog, clock });
    const parts = { catalog, store, clock, margins, time, changed, ownership };
    this.#context = {
      catalog,
      clock,
      margins,
      time: {
        nowMicros: () => time.nowMicros(),
        get inDoubt() {
          return inDoubt();
        },
      },
      setPartitioning: (namespace, from, to) =>
        setPartitioning({ ...parts, random: systemRandom }, namespace, from, to),
      observe: (_, tuning, words) => this.#log.push(movedText(tuning, words)),
    };
    this.#tunings = new Tunings(this.#context);
  }

  async close(): Promise<void> {}

  async run(command: string, given: Arguments): Promise<string> {
    const act = this.#commands[command];
    if (act === undefined) throw new Error(`no such command: ${command}`);
    return act(given);
  }

  readonly #commands: Readonly<Record<string, (given: Arguments) => Promise<string>>> = {
    namespace: async (given) => {
      await this.#process.time.refresh("owner");
      await this.#process.namespaces.create(NAME, configOf(given));
      return this.#slices();
    },

    update: async (given) => {
      await this.#process.namespaces.update(NAME, configOf(given), []);
      return "updated";
    },

    /** Lets days or hours pass. Each slice that ends is sealed, walked and judged. */
    days: (given) => this.#live(DAY, given),
    hours: (given) => this.#live(HOUR, given),
    /** Events of earlier days arrive: acceptLimit is raised, and those days are walked again. */
    backfill: async ({ days = "5", level = "1" }) => {
      const accept = Number(days) * DAY;
      const updating = this.#process.namespaces.update(NAME, { acceptLimitMicros: accept }, []);
      await this.#control.passWhile(updating);
      const back = this.#process.namespaces.update(NAME, { acceptLimitMicros: DAY / 144 }, []);
      await this.#control.passWhile(back);
      const { id, epoch } = await this.#namespace();
      for (const slice of await this.#sealed()) {
        const filled = { ...slice, level: Number(level), epoch };
        await writeHistogram(
          this.#control.catalog,
          id,
          later(filled, this.#control.clock.nowMicros()),
        );
      }
      await this.#tune();
      return this.#news();
    },

    /** Events of earlier days arrive within acceptLimit: slices that are not sealed yet get them. */
    late: ({ days = "5", level = "1" }) => {
      const names = [...this.#written.keys()].slice(-Number(days));
      for (const name of names) {
        this.#written.set(name, { traffic: STEADY, level: Number(level) });
      }
      return Promise.resolve(`in ${names.join(", ")}`);
    },

    factor: async ({ "": factor = "16" }) => {
      const [newest] = (await this.#all()).slice(-1);
      if (newest === undefined) throw new Error("no slice");
      const { eventBuckets } = newest.timePartition;
      const id = grownBuckets(newest, Number(factor));
      return `an id with ${factor} times the event buckets has ${id} in ${newest.name}; other ids have ${eventBuckets}`;
    },

    doubt: async ({ "": on = "on" }) => {
      this.#inDoubt = on === "on";
      await this.#tune();
      return this.#news();
    },

    tune: async () => {
      await this.#tune();
      return this.#news();
    },

    ls: async () => {
      const { tunings, next, nothing } = await this.#tunings.list(NAME);
      const lines = tunings.map(({ id, state, proposed }) => `${id} ${state}: ${proposed}`);
      const then = next === undefined ? NO_TUNING_TEXTS[nothing ?? "FITS"] : next.proposed;
      return [...lines, `now: ${then}`].join("\n");
    },

    show: async ({ "": id = "" }) => {
      const tunings = await readTunings(this.#control.catalog, (await this.#namespace()).id);
      const tuning = tunings.find((each) => each.id === id) ?? tunings.at(-1);
      return tuning === undefined ? "none" : tuningText(tuning);
    },

    accept: async ({ "": id = "", by = "ada" }) => {
      await this.#tunings.decide(NAME, { id, accept: true, by, reason: "" });
      return this.#news();
    },
    refuse: async ({ "": id = "", by = "ada", reason = "" }) => {
      await this.#tunings.decide(NAME, { id, accept: false, by, reason });
      return this.#news();
    },

    slices: () => this.#slices(),
  };

  async #live(
    step: number,
    { "": count = "1", level = "1", ids, outliers, complete, reads = "yes" }: Arguments,
  ): Promise<string> {
    this.#read = reads === "yes";
    const traffic: Traffic = {
      ...STEADY,
      ...(ids !== undefined && { ids: Number(ids) }),
      ...(outliers !== undefined && { outliers: { share: 0.02, factor: Number(outliers) } }),
    };
    for (let nth = 0; nth < Number(count); nth++) {
      await this.#pass(step);
      await this.#walk(traffic, { level: Number(level), complete: complete !== "no" });
      await this.#tune();
    }
    return this.#news();
  }

  async #pass(micros: number): Promise<void> {
    await this.#control.clock.advance(micros / 1_000);
    await this.#process.reconciler.runOnce(never);
    // The floor passes the slice a little after its end.
    await this.#control.clock.advance(1);
  }

  /** Every slice that has ended, once it is sealed for the last time. */
  async #walk(
    traffic: Traffic,
    { level, complete }: { level: number; complete: boolean },
  ): Promise<void> {
    const { catalog, clock } = this.#control;
    const { id, createdAt, floor } = await this.#namespace();
    const now = clock.nowMicros();
    const walked = (await readHistograms(catalog, id)).filter(({ sealed }) => sealed);
    const final = new Set(walked.map(({ timeSlice }) => timeSlice));
    for (const slice of await this.#all()) {
      if (final.has(slice.name) || slice.start < createdAt || slice.end > now) continue;
      const written = this.#written.get(slice.name) ?? { traffic, level };
      this.#written.set(slice.name, written);
      const histogram = simulatedHistogram(written.traffic, { ...slice, level: written.level });
      const sealed = slice.end <= floor;
      const asOf = sealed ? now : slice.end;
      await writeHistogram(catalog, id, { ...histogram, complete, sealed, asOf, endedAt: asOf });
    }
    if (this.#read) await noteReadAt(catalog, id, now);
  }

  async #tune(): Promise<void> {
    await tuneNamespace(this.#context, await this.#namespace());
  }

  async #sealed(): Promise<TimeSlice[]> {
    const { floor } = await this.#namespace();
    return (await this.#all()).filter(({ end }) => end <= floor);
  }

  async #all(): Promise<TimeSlice[]> {
    return readSlices(this.#control.catalog, (await this.#namespace()).id);
  }

  #namespace() {
    return readReadyNamespace(this.#control.catalog, NAME);
  }

  /** Runs of slices that have the same partitioning. */
  async #slices(): Promise<string> {
    const lines: string[] = [];
    let last = "";
    for (const { name, timePartition } of await this.#all()) {
      const { secondsPerTimeSlice, secondsPerTimeBucket, eventBuckets } = timePartition;
      const text = `slices of ${width(secondsPerTimeSlice)}, buckets of ${width(secondsPerTimeBucket)}, ${eventBuckets} event buckets`;
      if (text !== last) lines.push(`from ${name}: ${text}`);
      last = text;
    }
    return lines.join("\n");
  }

  #news(): string {
    const lines = this.#log;
    this.#log = [];
    return lines.length === 0 ? "nothing happened" : lines.join("\n");
  }
}

function later(
  { level, epoch, ...slice }: TimeSlice & { level: number; epoch: number },
  now: number,
): SliceHistogram {
  return { ...simulatedHistogram(STEADY, { ...slice, level, epoch }), asOf: now, endedAt: now };
}

function configOf(given: Arguments): NamespaceConfigPatch {
  const { slice, bucket, buckets, mode, drop, accept } = given;
  return {
    timePartition: {
      ...(slice !== undefined && { secondsPerTimeSlice: Number(slice) }),
      ...(bucket !== undefined && { secondsPerTimeBucket: Number(bucket) }),
      ...(buckets !== undefined && { eventBuckets: Number(buckets) }),
    },
    ...(drop !== undefined && {
      retention: {
        closeAfterMicros: (Number(drop) - 1) * DAY,
        deleteAfterMicros: Number(drop) * DAY,
      },
    }),
    ...(accept !== undefined && { acceptLimitMicros: Number(accept) * DAY }),
    tuning: {
      ...(mode !== undefined && {
        mode: mode === "AUTO" ? "AUTO" : mode === "OFF" ? "OFF" : "PROPOSE",
      }),
    },
  };
}

function width(seconds: number): string {
  for (const [unit, length] of [
    ["d", 86_400],
    ["h", 3_600],
    ["min", 60],
  ] as const) {
    if (seconds % length === 0) return `${seconds / length} ${unit}`;
  }
  return `${seconds} s`;
}

function movedText({ id, state, history }: Tuning, words: string): string {
  const { by, why } = history.at(-1) ?? { by: "", why: "" };
  return `${by}: ${id} is ${state}: ${state === "PROPOSED" ? words : why}`;
}

function tuningText(tuning: Tuning): string {
  const { id, state, evidence, observed, proposed, dryRun, effectiveFrom, got, history } = tuning;
  const sizes = ({ p50, p99 }: TunedSizes): string =>
    `p50 ${formatBytes(p50)}, p99 ${formatBytes(p99)}`;
  const day = (micros: number): string => new Date(micros / 1_000).toISOString().slice(0, 16);
  return [
    `${id} ${state}: ${proposed}`,
    `  because ${observed} (${evidence.join(", ")})`,
    `  now ${sizes(dryRun.before)}, a read of 24 h touches ${dryRun.partitionsPerDayBefore} partitions`,
    `  would be ${sizes(dryRun.after)}, a read of 24 h would touch ${dryRun.partitionsPerDayAfter}`,
    ...(dryRun.keptLongerSeconds === 0
      ? []
      : [
          `  kept longer: ${width(dryRun.keptLongerSeconds)}, ${formatBytes(dryRun.keptLongerBytes)}`,
        ]),
    ...(effectiveFrom === 0 ? [] : [`  first slice: ${day(effectiveFrom)}`]),
    ...(got === null ? [] : [`  got ${sizes(got)}`]),
    ...history.map(({ by, to, why }) => `  ${by}: ${to}: ${why}`),
  ].join("\n");
}
