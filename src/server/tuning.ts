/** Composes the tuning of future slices: the tuner, which runs in one process, and its use cases. */
import type { Log } from "../lib/log.ts";
import type { Tuning } from "../model/tuning.ts";
import { setPartitioning } from "../namespaces/set-partitioning.ts";
import { Tuner } from "../tune/tuner.ts";
import type { TuneContext } from "../tune/tune-context.ts";
import { Tunings } from "../tune/tunings.ts";
import type { CommonParts } from "./common-parts.ts";
import type { ServiceConfig } from "./config.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Runtime } from "./runtime.ts";

/** The lifecycle stops it. */
export function startTuner(
  config: ServiceConfig,
  runtime: Runtime,
  parts: TuneParts,
  lifecycle: Lifecycle,
): void {
  const { log } = runtime;
  const tuner = new Tuner({
    ...contextOf(runtime, parts),
    everyMs: config.tuning.every,
    onFailed: (namespace, error) => log.warn({ namespace, err: error }, "could not tune"),
  });
  lifecycle.run("tuning", (signal) => tuner.run(signal));
}

export function newTunings(runtime: Runtime, parts: TuneParts): Tunings {
  return new Tunings(contextOf(runtime, parts));
}

type TuneParts = Pick<
  CommonParts,
  "catalog" | "store" | "margins" | "time" | "ownership" | "changed" | "measures"
>;

function contextOf({ clock, random, log }: Runtime, parts: TuneParts): TuneContext {
  const { catalog, margins, time, measures } = parts;
  return {
    catalog,
    clock,
    margins,
    time,
    setPartitioning: (namespace, from, to) =>
      setPartitioning({ ...parts, clock, random }, namespace, from, to),
    observe: (namespace, tuning, words) => {
      measures.tunings.add(1, namespace, tuning.state);
      logTuning(log, namespace, tuning, words);
    },
    unreadable: ({ space, key, error }) =>
      log.error({ space, key, err: error }, "a tuning or histogram cannot be decoded"),
  };
}

function logTuning(log: Log, namespace: string, tuning: Tuning, words: string): void {
  const { id, state, history } = tuning;
  const { by, why } = history.at(-1) ?? {};
  log.info({ namespace, tuning: id, state, by, why }, words);
}
