/**
 * What a world consists of, by its kind and its seed.
 *
 * A plain world is small and fast: one namespace, one replica, two servers and two workers for a
 * few minutes. A full one has all that the simulator knows. Not every full world has every fault:
 * worlds that lack some reach states that the others cannot.
 */
import type { NamespaceConfig } from "../../src/model/namespace-config.ts";
import type { NamespaceConfigPatch } from "../../src/model/merge-config.ts";
import { SPLIT_LAYOUTS } from "../../src/model/layouts.ts";
import { SPLIT_STRATEGIES } from "../../src/model/strategies/strategies.ts";
import { CALM } from "./faulty-parts.ts";
import type { Chaos } from "./faulty-parts.ts";
import type { SeededRandom } from "./seeded-random.ts";

export const SECOND = 1_000_000;

export const WORLD_KINDS = ["plain", "full"] as const;
export type WorldKind = (typeof WORLD_KINDS)[number];

/** Each can be left out of a world, to see whether its failure needs it. */
export const FAULTS = [
  "calls",
  "late-calls",
  "kills",
  "paused-machines",
  "frozen-machines",
  "stopped-processes",
  "skew",
  "clock-steps",
  "busy-workers",
  "dead-catalog-calls",
  "replicas",
  "damaged-blocks",
  "lost-blocks",
  "queue",
  "operators",
  "namespaces-made-again",
] as const;
export type Fault = (typeof FAULTS)[number];

const PLAIN_FAULTS: readonly Fault[] = ["calls", "kills", "paused-machines", "queue", "operators"];

export interface WorldOptions {
  readonly seed: number;
  readonly kind: WorldKind;
  /** Faults that the world does not have, whatever its seed says. */
  readonly without?: readonly Fault[];
  /** How long its callers are busy; default: by kind. */
  readonly seconds?: number;
}

export interface NamespaceSettings {
  readonly name: string;
  readonly config: NamespaceConfigPatch;
  /** Deleted and made again, now and then. */
  readonly madeAgain: boolean;
  /** How much of the traffic is for it. */
  readonly weight: number;
}

export interface WorldSettings extends WorldOptions {
  readonly faults: ReadonlySet<Fault>;
  readonly chaos: Chaos;
  readonly busySeconds: number;
  readonly servers: number;
  readonly workers: number;
  readonly replicas: 1 | 3;
  readonly namespaces: readonly NamespaceSettings[];
  /** Mean time between two acts of one actor. */
  readonly everyMs: Readonly<
    Record<"write" | "read" | "operate" | "crash" | "stand" | "store" | "step" | "remake", number>
  >;
  /** Queries with filters, limits and partial returns. */
  readonly richReads: boolean;
  /** The tuner and the walks that it needs run in workers. */
  readonly tuning: boolean;
}

export function settingsOf(options: WorldOptions, random: SeededRandom): WorldSettings {
  const { kind, without = [] } = options;
  const plain = kind === "plain";
  // Always drawn, so that a world without a fault is the same world otherwise.
  const faulty = random.chance(0.85);
  const drawn = (plain ? PLAIN_FAULTS : FAULTS).filter(() => plain || random.chance(0.7));
  const faults = new Set(faulty ? drawn : (["operators"] as const));
  for (const fault of without) faults.delete(fault);
  const chaos = chaosOf(faults, random);
  const first = firstNamespace(random, plain);
  const others = plain ? [] : otherNamespaces(random);
  return {
    ...options,
    faults,
    chaos,
    busySeconds: options.seconds ?? (plain ? 120 : 420),
    servers: plain ? 2 : 3,
    workers: 2,
    replicas: faults.has("replicas") ? 3 : 1,
    namespaces: [first, ...others],
    everyMs: {
      write: 900,
      read: plain ? 1_800 : 1_200,
      operate: 12_000,
      crash: plain ? 25_000 : 50_000,
      stand: plain ? 10_000 : 20_000,
      store: 20_000,
      step: 60_000,
      remake: 90_000,
    },
    richReads: !plain,
    tuning: !plain,
  };
}

function chaosOf(faults: ReadonlySet<Fault>, random: SeededRandom): Chaos {
  const [asleep, failed, lost] = [
    random.one([0, 0.001, 0.004]),
    random.one([0, 0.005, 0.03]),
    random.one([0, 0.005, 0.02]),
  ];
  // Beyond every margin, and still before the caller gives up.
  const asleepMsMax = random.one([20_000, 38_000]);
  const surfaces = random.one([0, 0.003, 0.02]);
  const calls = faults.has("calls")
    ? { delayed: 0.2, delayMsMax: 200, asleep, asleepMsMax, failed, lost }
    : {};
  const late = faults.has("late-calls") ? { surfaces, surfacesMsMax: 40_000 } : {};
  return { ...CALM, ...calls, ...late };
}

function firstNamespace(random: SeededRandom, plain: boolean): NamespaceSettings {
  const config = {
    ...configOf(random),
    retention: { closeAfterMicros: 7_200 * SECOND, deleteAfterMicros: 10_800 * SECOND },
  };
  return { name: "plays", config, madeAgain: false, weight: plain ? 1 : 6 };
}

function otherNamespaces(random: SeededRandom): NamespaceSettings[] {
  const brief = {
    ...configOf(random),
    timePartition: { secondsPerTimeSlice: 60, secondsPerTimeBucket: 60, eventBuckets: 1 },
    retention: { closeAfterMicros: 180 * SECOND, deleteAfterMicros: 210 * SECOND },
  };
  const remade = {
    ...configOf(random),
    retention: { closeAfterMicros: 7_200 * SECOND, deleteAfterMicros: 10_800 * SECOND },
  };
  const eventual = { ...remade, ...configOf(random), consistency: "EVENTUAL" as const };
  const many = {
    ...remade,
    timePartition: { secondsPerTimeSlice: 60, secondsPerTimeBucket: 5, eventBuckets: 1 },
  };
  return [
    { name: "many", config: many, madeAgain: false, weight: 2 },
    { name: "brief", config: brief, madeAgain: false, weight: 3 },
    { name: "remade", config: remade, madeAgain: true, weight: 2 },
    { name: "eventual", config: eventual, madeAgain: false, weight: 1 },
  ];
}

function configOf(random: SeededRandom): NamespaceConfigPatch {
  return {
    timePartition: {
      secondsPerTimeSlice: random.one([120, 240]),
      secondsPerTimeBucket: random.one([60, 120]),
      eventBuckets: random.one([1, 1, 2]),
    },
    acceptLimitMicros: 15 * SECOND,
    futureLimitMicros: 5 * SECOND,
    slos: { read: { targetMs: 1 } },
    widePartition: wideOf(random),
    tuning: { mode: "AUTO", densityMinBytes: 20_000, densityMaxBytes: 60_000 },
  };
}

/** How wide partitions are split. */
export function wideOf(random: SeededRandom): NamespaceConfig["widePartition"] {
  return {
    detect: true,
    bytesMax: 65_536,
    targetBytes: 65_536,
    eventsMax: 100,
    maxParts: random.one([2, 4_096]),
    layout: random.one(SPLIT_LAYOUTS),
    strategy: random.one(["AUTO", ...SPLIT_STRATEGIES]),
    whenHarmless: "SPLIT",
  };
}
