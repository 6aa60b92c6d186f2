/**
 * Changes a namespace's configuration in part: given values replace, and named fields return to
 * their defaults.
 *
 * `checkConfig` checks whether the result makes sense.
 */
import { DEFAULT_NAMESPACE_CONFIG } from "./namespace-config.ts";
import type { LatencyTargets, NamespaceConfig } from "./namespace-config.ts";

/** Some of the fields of T. A field that is present but undefined counts as absent. */
type Some<T> = { readonly [K in keyof T]?: T[K] | undefined };

export interface NamespaceConfigPatch {
  readonly timePartition?: Some<NamespaceConfig["timePartition"]> | undefined;
  readonly acceptLimitMicros?: number | undefined;
  readonly futureLimitMicros?: number | undefined;
  readonly retention?: Some<NamespaceConfig["retention"]> | undefined;
  readonly slos?:
    | {
        readonly read?: Some<LatencyTargets> | undefined;
        readonly write?: Some<LatencyTargets> | undefined;
      }
    | undefined;
  readonly consistency?: NamespaceConfig["consistency"] | undefined;
  readonly widePartition?: Some<NamespaceConfig["widePartition"]> | undefined;
  readonly tuning?: Some<NamespaceConfig["tuning"]> | undefined;
}

export interface MergedConfig {
  readonly config: NamespaceConfig;
  /** Of each path of `reset` that names no field: the path's place in the request, and what to do. */
  readonly problems: readonly { readonly field: string; readonly problem: string }[];
}

/**
 * `reset` is applied first, so that one call can reset a group and set one field of it. Its paths
 * are spelled as in the API: `slos.read`, `retention.closeAfter`, or `retention.close_after`.
 */
export function mergeConfig(
  base: NamespaceConfig,
  patch: NamespaceConfigPatch,
  reset: readonly string[],
): MergedConfig {
  const problems: { field: string; problem: string }[] = [];
  let config = base;
  for (const [i, path] of reset.entries()) {
    const patchOfDefaults = DEFAULTS_BY_PATH.get(lowerCamelCase(path));
    if (patchOfDefaults !== undefined) config = patched(config, patchOfDefaults);
    else {
      problems.push({
        field: `reset[${i}]`,
        problem: `reset: "${path.slice(0, 100)}" is not a field; name one such as slos.read or acceptLimit`,
      });
    }
  }
  return { config: patched(config, patch), problems };
}

function patched(base: NamespaceConfig, patch: NamespaceConfigPatch): NamespaceConfig {
  return {
    // Fields of a later version of Braid stay as they are (rule C28).
    ...base,
    timePartition: { ...base.timePartition, ...given(patch.timePartition) },
    acceptLimitMicros: patch.acceptLimitMicros ?? base.acceptLimitMicros,
    futureLimitMicros: patch.futureLimitMicros ?? base.futureLimitMicros,
    retention: { ...base.retention, ...given(patch.retention) },
    slos: {
      ...base.slos,
      read: { ...base.slos.read, ...given(patch.slos?.read) },
      write: { ...base.slos.write, ...given(patch.slos?.write) },
    },
    consistency: patch.consistency ?? base.consistency,
    widePartition: { ...base.widePartition, ...given(patch.widePartition) },
    tuning: { ...base.tuning, ...given(patch.tuning) },
  };
}

function given<T extends object>(some: Some<T> | undefined): Partial<T> {
  const entries = Object.entries(some ?? {}).filter(([, value]) => value !== undefined);
  // The keys and values are those of `some` without the undefined ones, as Partial<T> says.
  return Object.fromEntries(entries) as Partial<T>;
}

/**
 * Every field and group of the configuration, by its path in the API, as a patch with its defaults.
 */
const DEFAULTS_BY_PATH: ReadonlyMap<string, NamespaceConfigPatch> = new Map(
  defaultsBelow("", DEFAULT_NAMESPACE_CONFIG, (defaults) => defaults),
);

function* defaultsBelow(
  path: string,
  defaults: object,
  wrap: (inner: object) => NamespaceConfigPatch,
): Generator<[string, NamespaceConfigPatch]> {
  for (const [field, value] of Object.entries(defaults) as [string, unknown][]) {
    const at = path === "" ? apiSpelling(field) : `${path}.${apiSpelling(field)}`;
    yield [at, wrap({ [field]: value })];
    if (typeof value === "object" && value !== null) {
      yield* defaultsBelow(at, value, (inner) => wrap({ [field]: inner }));
    }
  }
}

/** Durations in the API carry their unit; in the code the name has the unit. */
function apiSpelling(field: string): string {
  return field.replace(/(?:Micros|Ms)$/, "");
}

function lowerCamelCase(path: string): string {
  return path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
