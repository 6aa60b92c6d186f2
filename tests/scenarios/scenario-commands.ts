/**
 * The commands of the scenarios beside this file, each with its answer.
 */
import { ServiceError } from "../../src/lib/errors.ts";
import type { NamespaceConfigPatch } from "../../src/model/merge-config.ts";
import type { PartitionKey } from "../../src/model/partition.ts";
import type { Segment, SplitRecord } from "../../src/model/split.ts";
import type { SplitEvent } from "../../src/splits/work/split-context.ts";
import { formatTime } from "../../src/wire/time-text.ts";
import { StopAfter } from "../support/stopped-process.ts";
import { MIDNIGHT, MINUTE, NAME, SERIES, SplitScenario } from "./split-scenario.ts";
import type { WorkerHandle } from "./split-scenario.ts";

export type Arguments = Readonly<Record<string, string>>;

export class Scenario {
  #scenario: SplitScenario | undefined;
  readonly #workers = new Map<string, WorkerHandle>();
  readonly #stops = new Map<string, StopAfter>();
  /** How many events of each worker were reported. */
  readonly #told = new Map<string, number>();

  async close(): Promise<void> {
    for (const stop of this.#stops.values()) stop.resume();
    await this.#scenario?.close();
  }

  async run(command: string, given: Arguments): Promise<string> {
    const act = this.#commands[command];
    if (act === undefined) throw new Error(`no such command: ${command}`);
    return act(given);
  }

  readonly #commands: Readonly<Record<string, (given: Arguments) => Promise<string>>> = {
    namespace: async (given) => {
      this.#scenario = await SplitScenario.open(configOf(given));
      return `it is ${clockText(this.#now())}`;
    },

    write: async ({ series, events = "1", bytes = "4000", from = "", to = "", id }) => {
      await this.#there.write({
        ...(series !== undefined && { series }),
        ...(id !== undefined && { id }),
        events: Number(events),
        bytes: Number(bytes),
        from: timeOf(from),
        to: timeOf(to === "" ? from : to),
      });
      return `${events} events`;
    },

    detect: async ({ at = "", series }) => this.#there.detect(await this.#partition(at, series)),

    request: (given) => this.#operatorRequest(given, "request"),
    retry: (given) => this.#operatorRequest(given, "retry"),
    rollback: (given) => this.#operatorRequest(given, "rollback"),

    pause: async ({ by = "ada", reason = "" }) => {
      await this.#there.splits.pause(NAME, { by, reason });
      return "paused";
    },
    resume: async () => {
      await this.#there.splits.resume(NAME);
      return "resumed";
    },

    block: async ({ series = SERIES }) => {
      const { namespaces } = this.#there.control;
      await namespaces.blockIds(NAME, [{ seriesId: series, reason: "", expiresAt: undefined }]);
      return "blocked";
    },

    update: async (given) => {
      const { control } = this.#there;
      const updating = control.namespaces.update(NAME, configOf(given), []);
      await this.#there.passWhile(updating);
      const { epoch } = await updating;
      return `epoch ${epoch}`;
    },

    delete: async () => {
      const deleting = this.#there.control.namespaces.delete(NAME);
      await this.#there.passWhile(deleting);
      return "deleted";
    },

    /** `dies-after`: it stops for ever, or until it resumes, after that many calls and answers. */
    worker: async ({ name = "w1", "dies-after": passes, stepMs }) => {
      const stop = passes === undefined ? undefined : new StopAfter(Number(passes));
      if (stop !== undefined) this.#stops.set(name, stop);
      const step = (): Promise<void> => this.#there.clock.sleep(Number(stepMs));
      const gate = stop?.gate ?? (stepMs === undefined ? undefined : step);
      this.#workers.set(name, this.#there.startWorker({ by: name, ...(gate && { gate }) }));
      return "started";
    },
    wake: async ({ name = "w1" }) => {
      this.#stops.get(name)?.resume();
      return "awake";
    },
    stop: async ({ name = "w1" }) => {
      await this.#workers.get(name)?.stop();
      return this.#news();
    },

    /** Lets time pass and reports what the workers did. */
    wait: async ({ "": time = "0s" }) => {
      await this.#there.clock.advance(durationOf(time) / 1_000);
      return this.#news();
    },

    outage: async ({ "": what = "store" }) => {
      const { catalog, store } = this.#there;
      const fail = (): void => {
        throw new ServiceError("STORAGE_UNAVAILABLE", "the storage is away");
      };
      const none = (): void => undefined;
      // Only the split tables: reads of originals continue.
      store.before = (_call, { slice }) => {
        if (what === "store" || (what === "parts" && slice.startsWith("wide_"))) fail();
      };
      catalog.before = what === "catalog" ? fail : none;
      return what === "over" ? "over" : `no ${what}`;
    },

    /** Damages one part of each of the next copies, right before it is read back. */
    damage: async ({ at = "", part = "0", copies = "1" }) => {
      const partition = await this.#partition(at);
      const damaged = new Set<number>();
      this.#beforeReadBack(async () => {
        const newest = (await this.#there.record(partition))?.segments.at(-1);
        if (newest === undefined || damaged.has(newest.generation)) return true;
        damaged.add(newest.generation);
        await this.#there.damage(partition, (newest.partRanges[0]?.start ?? 0) + Number(part));
        return damaged.size < Number(copies);
      });
      return "will be";
    },

    /** An event surfaces in the original after the copy was read back. */
    surface: async ({ from = "" }) => {
      this.#beforeReadBack(async () => {
        const time = timeOf(from);
        await this.#there.write({ events: 1, bytes: 100, from: time, to: time, id: "late" });
        return false;
      });
      return "will be";
    },

    show: async ({ at = "", series, history }) => {
      const record = await this.#there.record(await this.#partition(at, series));
      if (record === undefined) return "no record";
      return history === undefined ? recordText(record, this.#now()) : historyText(record);
    },

    /** Compares what servers would follow with the original. */
    read: async ({ at = "", series }) => {
      const partition = await this.#partition(at, series);
      const { from, to, events, parts, same } = await this.#there.compare(partition);
      if (parts === 0 && events === 0) return "the original alone";
      const where = `${clockText(from)} to ${clockText(to)}`;
      return `${where} from ${parts} parts: ${events} events, ${same ? "as in the original" : "NOT AS IN THE ORIGINAL"}`;
    },
  };

  get #there(): SplitScenario {
    if (this.#scenario === undefined) throw new Error("a scenario begins with a namespace");
    return this.#scenario;
  }

  #now(): number {
    return this.#there.clock.nowMicros();
  }

  #partition(at: string, series?: string): Promise<PartitionKey> {
    return this.#there.partitionAt(timeOf(at), series);
  }

  /** `act` runs before a part of a copy is read, and again while it says so. */
  #beforeReadBack(act: () => Promise<boolean>): void {
    const { store } = this.#there;
    let waiting = true;
    store.before = async (call) => {
      if (call !== "scanBlocks" || !waiting) return;
      // Its own calls bypass it.
      waiting = false;
      waiting = await act();
    };
  }

  async #operatorRequest(
    { at = "", series, by = "ada", reason = "" }: Arguments,
    what: "request" | "retry" | "rollback",
  ): Promise<string> {
    const location = await this.#there.placeAt(timeOf(at), series);
    const { record } = await this.#there.splits[what](location, { by, reason });
    return record.state;
  }

  #news(): string {
    const lines: string[] = [];
    for (const [name, { events }] of this.#workers) {
      const told = this.#told.get(name) ?? 0;
      this.#told.set(name, events.length);
      for (const event of events.slice(told)) {
        const line = eventText(event);
        if (line !== undefined) lines.push(`${name}: ${line}`);
      }
    }
    return lines.length === 0 ? "nothing happened" : withoutRepeats(lines).join("\n");
  }
}

function withoutRepeats(lines: readonly string[]): string[] {
  return lines.filter((line, nth) => line !== lines[nth - 1]);
}

function configOf(given: Arguments): NamespaceConfigPatch {
  const { accept, parts, strategy, layout, detect, target, limit, close, drop, slice } = given;
  return {
    ...(slice !== undefined && {
      timePartition: { secondsPerTimeSlice: (durationOf(slice) * 60) / MINUTE },
    }),
    ...(accept !== undefined && { acceptLimitMicros: durationOf(accept) }),
    ...((close !== undefined || drop !== undefined) && {
      retention: {
        ...(close !== undefined && { closeAfterMicros: durationOf(close) }),
        ...(drop !== undefined && { deleteAfterMicros: durationOf(drop) }),
      },
    }),
    widePartition: {
      ...(parts !== undefined && { maxParts: Number(parts) }),
      ...(strategy !== undefined && { strategy }),
      ...(layout !== undefined && { layout: layout === "ROWS" ? "ROWS" : "PACKED" }),
      ...(detect !== undefined && { detect: detect === "on" }),
      ...(target !== undefined && { targetBytes: Number(target) }),
      ...(limit !== undefined && { bytesMax: Number(limit) }),
    },
  };
}

const UNITS: Readonly<Record<string, number>> = { s: 1 / 60, m: 1, h: 60, d: 24 * 60 };

function durationOf(text: string): number {
  const [, number, unit = ""] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const minutes = UNITS[unit];
  if (minutes === undefined) throw new Error(`not a duration: ${text}`);
  return Math.round(Number(number) * minutes * MINUTE);
}

/** Of the scenario's day: 10:00, 10:59:30. */
function timeOf(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(":").map(Number);
  return MIDNIGHT + (hours * 60 + minutes) * MINUTE + (seconds * MINUTE) / 60;
}

function clockText(time: number): string {
  return formatTime(time)
    .replace(/^2026-03-28T/, "")
    .replace(/Z$/, "");
}

/** In a scenario of one day the time of day is enough. */
function plain(text: string): string {
  return text.replaceAll(/2026-03-28T([\d:.]+)Z/g, "$1");
}

function eventText(event: SplitEvent): string | undefined {
  switch (event.kind) {
    case "moved":
      return `${event.from} -> ${event.to} (${event.cause}): ${plain(shortened(event.reason))}`;
    case "split":
      return `confirmed: ${event.parts} parts, ${event.bytes} bytes`;
    case "id step":
      return `${event.partition.seriesId} gets ${event.factor} times the event buckets`;
    case "unreadable":
      return `skipped: ${event.entry.space}/${event.entry.key}`;
    case "trouble":
      return `trouble: ${event.what}`;
    default:
      return undefined;
  }
}

/** The reasons for a strategy are a matter of the planner's tests. */
function shortened(reason: string): string {
  return reason.replace(/; (?:EVENT_BUCKETS gives|the namespace asks).*?(?=; parts grow|$)/, "");
}

function recordText(record: SplitRecord, now: number): string {
  const due = record.dueAt === null ? "not due" : dueText(record.dueAt - now);
  const held = record.heldBy === null ? "" : `, held by ${record.heldBy}`;
  const failed = record.failures === 0 ? "" : `, ${record.failures} failures`;
  const owner = record.owner === null ? "" : `, owned by ${record.owner.by}`;
  const head = `${record.state}${owner}, ${due}${held}${failed}`;
  return [head, ...record.segments.map(segmentText)].join("\n");
}

function dueText(micros: number): string {
  return micros <= 0 ? "due" : `due in ${Math.round((micros * 60) / MINUTE)} s`;
}

function segmentText(segment: Segment): string {
  const { from, to, state, generation, layout, strategy, partRanges, events, confirmedAt } =
    segment;
  const numbers = partRanges.map(({ start, count }) => `${start}..${start + count - 1}`).join(" ");
  const proven = confirmedAt === null ? "" : ", confirmed";
  const what = `${layout} ${strategy}, generation ${generation}, ${events} events`;
  const parts = numbers === "" ? "no parts" : `parts ${numbers}`;
  return `  ${clockText(from)} to ${clockText(to)} ${state}${proven}: ${what} in ${parts}`;
}

function historyText({ history }: SplitRecord): string {
  const line = (move: SplitRecord["history"][number]): string =>
    `${move.by}: ${move.from ?? "none"} -> ${move.to} (${move.cause}): ${plain(shortened(move.reason))}` +
    (move.times > 1 ? ` (${move.times} times)` : "");
  return history.map(line).join("\n");
}
