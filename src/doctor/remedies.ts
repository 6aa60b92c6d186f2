/**
 * Names the remedy for each problem of a namespace's partitions, from the ladder: do nothing,
 * partial returns, block, compact, re-tune, split. Pure.
 */
import type { Namespace } from "../model/namespace.ts";
import type { SplitRecord } from "../model/split.ts";
import { formatBytes } from "../lib/units.ts";
import type { SizeVerdict } from "../tune/judge-sizes.ts";

export const REMEDIES = ["NOTHING", "PARTIAL", "BLOCK", "COMPACT", "RETUNE", "SPLIT"] as const;

export interface Remedy {
  readonly problem: string;
  readonly remedy: (typeof REMEDIES)[number];
  readonly why: string;
  /** What to run; empty if there is nothing to do. */
  readonly command: string;
}

/** A wide partition: with a split record, or only seen by a walk. */
export interface WidePartition {
  readonly timeSlice: string;
  readonly timeSeriesId: string;
  readonly bytes: number;
  readonly events: number;
  /** Of the bytes of its slice; undefined if no walk has counted them. */
  readonly share: number | undefined;
  readonly splitId: string;
  /** Undefined: nobody has read it beyond the limit yet. */
  readonly split: SplitRecord | undefined;
  /** Merges the files of its slice; undefined if the engine has no such command. */
  readonly compactCommand: string | undefined;
}

export interface NamespaceCondition {
  readonly namespace: Namespace;
  readonly killSwitchOn: boolean;
  /** The newest sealed slice that was walked; undefined if none was. */
  readonly sizes: { readonly verdict: SizeVerdict; readonly observed: string } | undefined;
  /** The id of a tuning that waits for an operator. */
  readonly waitingTuning: string | undefined;
  /** The id of a tuning that is applied and has not shown its effect. */
  readonly appliedTuning: string | undefined;
  /** Largest first. */
  readonly wide: readonly WidePartition[];
}

/** An id with so much of a slice is a fault of its writer more often than a popular one. */
const SHARE_OF_A_FAULT = 0.5;

export function remediesOf(condition: NamespaceCondition): Remedy[] {
  const found = [
    ...switchRemedies(condition),
    ...tuningRemedies(condition),
    ...condition.wide.flatMap((partition) => partitionRemedies(condition, partition)),
  ];
  if (found.length > 0) return found;
  const why =
    condition.sizes === undefined
      ? "no wide partition is known; no sealed slice was walked yet, so sizes are not judged"
      : "partitions have the target size, and none is known to be wide";
  return [{ problem: "none found", remedy: "NOTHING", why, command: "" }];
}

function switchRemedies({ namespace, killSwitchOn, wide }: NamespaceCondition): Remedy[] {
  const { name, config, readMode, splitsPaused } = namespace;
  if (wide.length === 0) return [];
  const found: Remedy[] = [];
  const split = (problem: string, why: string, command: string): void => {
    found.push({ problem, remedy: "SPLIT", why, command });
  };
  if (killSwitchOn) {
    split("the kill switch is on", "no read uses a split while it is on", "braid kill-switch off");
  }
  if (splitsPaused !== null) {
    const why = `${splitsPaused.by} paused the splits${splitsPaused.reason === "" ? "" : `: ${splitsPaused.reason}`}`;
    split("splitting is paused", why, `braid splits resume ${name}`);
  }
  if (!config.widePartition.detect) {
    const command = `braid ns update ${name} --set widePartition.detect=true`;
    split("wide partitions are not detected", "widePartition.detect is off", command);
  }
  if (readMode.mode === "OFF") {
    const why = "the read mode is OFF: splits are made and never used";
    split("splits are not served", why, `braid modes set ${name} SHADOW`);
  }
  return found;
}

function tuningRemedies(condition: NamespaceCondition): Remedy[] {
  const { namespace, sizes, waitingTuning, appliedTuning } = condition;
  const { name, config } = namespace;
  if (sizes === undefined || sizes.verdict === "FITS") return [];
  const problem =
    sizes.verdict === "TOO_WIDE" ? "most partitions are too wide" : "most partitions are too small";
  const retune = (why: string, command: string): Remedy[] => [
    { problem, remedy: "RETUNE", why: `${sizes.observed} ${why}`, command },
  ];
  if (config.tuning.mode === "OFF") {
    return retune("Tuning is off.", `braid ns update ${name} --set tuning.mode=PROPOSE`);
  }
  if (waitingTuning !== undefined) {
    return retune("A proposal waits.", `braid tune accept ${name} ${waitingTuning}`);
  }
  if (appliedTuning !== undefined) {
    const why = "A change is applied; two sealed slices will show its effect.";
    return retune(why, `braid tune show ${name} ${appliedTuning}`);
  }
  return retune(
    "The tuner proposes a change when two sealed slices agree.",
    `braid tune ls ${name}`,
  );
}

function partitionRemedies(condition: NamespaceCondition, wide: WidePartition): Remedy[] {
  const { namespace } = condition;
  const { name, config } = namespace;
  const { split } = wide;
  const problem = `${JSON.stringify(wide.timeSeriesId)} in ${wide.timeSlice}: ${sizeText(wide)}`;
  const is = (remedy: Remedy["remedy"], why: string, command = ""): Remedy => ({
    problem,
    remedy,
    why,
    command,
  });
  const blocked = blockAdvice(wide, name, is);
  if (split === undefined) {
    const why = "no read has met its width yet; the first one that does has it split";
    return [is("NOTHING", why), ...blocked];
  }
  const { cause, reason } = split.history.at(-1) ?? { cause: "", reason: "" };
  const { maxMs } = split.latency.before;
  const partial =
    maxMs > config.slos.read.maxMs && split.state !== "COMPLETED"
      ? [
          is(
            "PARTIAL",
            `a page took ${Math.round(maxMs)} ms, the limit is ${config.slos.read.maxMs} ms; callers that prefer an incomplete answer set allowPartial`,
          ),
        ]
      : [];
  if (cause === "harmless" || cause === "no-impact") return [is("NOTHING", reason)];
  if (cause === "fragmented") {
    return [is("COMPACT", reason, wide.compactCommand ?? ""), ...partial];
  }
  if (split.state === "COMPLETED") {
    if (namespace.readMode.mode === "SERVE") return [];
    const why = `it is split, and reads are compared in ${namespace.readMode.mode} before they use it`;
    return [is("SPLIT", why, `braid modes get ${name}`)];
  }
  if (split.state === "FAILED" || split.state === "INVALIDATED") {
    const command = `braid splits retry ${name} ${wide.splitId}`;
    return [is("SPLIT", `its split is ${split.state}: ${reason}`, command), ...partial, ...blocked];
  }
  if (split.state === "REFUSED") return [is("NOTHING", reason), ...blocked];
  const why = `its split is ${split.state}${reason === "" ? "" : `: ${reason}`}`;
  return [is("SPLIT", why, `braid splits show ${name} ${wide.splitId}`), ...partial, ...blocked];
}

function blockAdvice(
  { share, timeSeriesId }: WidePartition,
  name: string,
  is: (remedy: "BLOCK", why: string, command: string) => Remedy,
): Remedy[] {
  if (share === undefined || share < SHARE_OF_A_FAULT) return [];
  const why = `it has ${Math.round(share * 100)} % of the slice: if it is a test, a bot or a loop, block it`;
  return [is("BLOCK", why, `braid block add ${name} ${quoted(timeSeriesId)} --reason "..."`)];
}

function sizeText({ bytes, events }: WidePartition): string {
  return `${formatBytes(bytes)} in ${events.toLocaleString("en-US")} events`;
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
