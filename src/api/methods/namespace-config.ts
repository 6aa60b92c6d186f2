/** Translates a namespace's configuration between API messages and the types of the code. */
import { isDeepStrictEqual } from "node:util";
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  NamespaceConfig_Consistency_Level as Level,
  NamespaceConfig_Tuning_Mode as Mode,
  NamespaceConfig_WhenHarmless_Action as Action,
  NamespaceConfig_WidePartition_Layout as Layout,
} from "../../gen/braid/v1/namespace_config_pb.js";
import type {
  NamespaceConfig as ConfigMessage,
  NamespaceConfig_Latency,
  NamespaceConfigSchema,
} from "../../gen/braid/v1/namespace_config_pb.js";
import type { Problems } from "../../lib/problems.ts";
import type { NamespaceConfigPatch } from "../../model/merge-config.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../../model/namespace-config.ts";
import type { LatencyTargets, NamespaceConfig } from "../../model/namespace-config.ts";
import { nameOf } from "./enum-names.ts";
import { durationOfMicros, microsOfDuration } from "./times.ts";

/**
 * The fields that a request gives, without the others. Adds what cannot be decoded to `problems`.
 */
export function patchOf(
  config: ConfigMessage | undefined,
  problems: Problems,
): NamespaceConfigPatch {
  if (config === undefined) return {};
  const micros = (duration: Parameters<typeof microsOfDuration>[0], field: string) =>
    microsOfDuration(duration, `config.${field}`, problems);
  const latency = (given: NamespaceConfig_Latency | undefined, field: string) =>
    given && {
      targetMs: msOf(micros(given.target, `${field}.target`)),
      maxMs: msOf(micros(given.max, `${field}.max`)),
    };
  const { timePartition, retention, slos, widePartition, tuning } = config;
  const count = (value: bigint | undefined, field: string) =>
    numberOf(value, `config.${field}`, problems);
  return {
    timePartition: timePartition && {
      secondsPerTimeSlice: timePartition.secondsPerTimeSlice,
      secondsPerTimeBucket: timePartition.secondsPerTimeBucket,
      eventBuckets: timePartition.eventBuckets,
    },
    acceptLimitMicros: micros(config.acceptLimit, "acceptLimit"),
    futureLimitMicros: micros(config.futureLimit, "futureLimit"),
    retention: retention && {
      closeAfterMicros: micros(retention.closeAfter, "retention.closeAfter"),
      deleteAfterMicros: micros(retention.deleteAfter, "retention.deleteAfter"),
    },
    slos: slos && {
      read: latency(slos.read, "slos.read"),
      write: latency(slos.write, "slos.write"),
    },
    consistency: nameOf(config.consistency, CONSISTENCIES, "config.consistency", problems),
    widePartition: widePartition && {
      detect: widePartition.detect,
      bytesMax: count(widePartition.bytesMax, "widePartition.bytesMax"),
      eventsMax: count(widePartition.eventsMax, "widePartition.eventsMax"),
      targetBytes: count(widePartition.targetBytes, "widePartition.targetBytes"),
      maxParts: widePartition.maxParts,
      layout: nameOf(widePartition.layout, LAYOUTS, "config.widePartition.layout", problems),
      strategy: widePartition.strategy,
      whenHarmless: nameOf(
        widePartition.whenHarmless,
        ACTIONS,
        "config.widePartition.whenHarmless",
        problems,
      ),
    },
    tuning: tuning && {
      mode: nameOf(tuning.mode, MODES, "config.tuning.mode", problems),
      densityMinBytes: count(tuning.densityMinBytes, "tuning.densityMinBytes"),
      densityMaxBytes: count(tuning.densityMaxBytes, "tuning.densityMaxBytes"),
    },
  };
}

/** The fields that have their default value, as the API names them: "slos.read.max". */
export function defaultFields(config: NamespaceConfig): string[] {
  return equalFields(configMessage(config), configMessage(DEFAULT_NAMESPACE_CONFIG));
}

function equalFields(value: object, other: object): string[] {
  const others = new Map<string, unknown>(Object.entries(other));
  return Object.entries(value).flatMap(([name, field]: [string, unknown]) => {
    const against = others.get(name);
    if (isGroup(field) && isGroup(against)) {
      return equalFields(field, against).map((inner) => `${name}.${inner}`);
    }
    return isDeepStrictEqual(field, against) ? [name] : [];
  });
}

/** A message of several fields; a duration is one value. */
function isGroup(value: unknown): value is object {
  return typeof value === "object" && value !== null && !("seconds" in value);
}

export function configMessage(
  config: NamespaceConfig,
): MessageInitShape<typeof NamespaceConfigSchema> {
  const { widePartition, tuning, retention, slos } = config;
  const latency = ({ targetMs, maxMs }: LatencyTargets) => ({
    target: durationOfMicros(Math.round(targetMs * 1000)),
    max: durationOfMicros(Math.round(maxMs * 1000)),
  });
  return {
    timePartition: { ...config.timePartition },
    acceptLimit: durationOfMicros(config.acceptLimitMicros),
    futureLimit: durationOfMicros(config.futureLimitMicros),
    retention: {
      closeAfter: durationOfMicros(retention.closeAfterMicros),
      deleteAfter: durationOfMicros(retention.deleteAfterMicros),
    },
    slos: { read: latency(slos.read), write: latency(slos.write) },
    consistency: Level[config.consistency],
    widePartition: {
      ...widePartition,
      bytesMax: BigInt(widePartition.bytesMax),
      eventsMax: BigInt(widePartition.eventsMax),
      targetBytes: BigInt(widePartition.targetBytes),
      layout: Layout[widePartition.layout],
      whenHarmless: Action[widePartition.whenHarmless],
    },
    tuning: {
      mode: Mode[tuning.mode],
      densityMinBytes: BigInt(tuning.densityMinBytes),
      densityMaxBytes: BigInt(tuning.densityMaxBytes),
    },
  };
}

const CONSISTENCIES = new Map([
  [Level.READ_YOUR_WRITES, "READ_YOUR_WRITES" as const],
  [Level.EVENTUAL, "EVENTUAL" as const],
]);
const LAYOUTS = new Map([
  [Layout.PACKED, "PACKED" as const],
  [Layout.ROWS, "ROWS" as const],
]);
const ACTIONS = new Map([
  [Action.SPLIT, "SPLIT" as const],
  [Action.LEAVE, "LEAVE" as const],
]);
const MODES = new Map([
  [Mode.PROPOSE, "PROPOSE" as const],
  [Mode.OFF, "OFF" as const],
  [Mode.AUTO, "AUTO" as const],
]);

function numberOf(
  value: bigint | undefined,
  field: string,
  problems: Problems,
): number | undefined {
  if (value === undefined) return undefined;
  if (value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
  problems.add(`${field} is too large`, field);
  return undefined;
}

function msOf(micros: number | undefined): number | undefined {
  return micros === undefined ? undefined : micros / 1000;
}
