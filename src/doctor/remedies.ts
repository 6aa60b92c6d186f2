/**
 * Names the remedy for each problem of a namespace's partitions, from the ladder: do nothing,
 * partial returns, block, compact, re-tune, split. Pure.
 */
import type { Namespace } from "../model/namespace.ts";
import type { SplitRecord } from "../model/split.ts";
import { formatBytes, formatDurationMs } from "../lib/units.ts";
import { noTuningCommand, NO_TUNING_TEXTS } from "../model/no-tuning.ts";
import type { DroppedSnapshots } from "../ports/snapshots.ts";
import type { SizeVerdict } from "../tune/judge-sizes.ts";
import type { TuningList } from "../tune/tunings.ts";

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
  /** Of the bytes of its slice; undefined if no walk has counted them, or no other id has any. */
  readonly share: number | undefined;
  readonly splitId: string;
  /** Undefined: nobody has read it beyond the limit yet. */
  readonly split: SplitRecord | undefined;
  /** Merges the files of its slice; undefined if the engine has no such command. */
  readonly compactCommand: string | undefined;
}

/** Reads of the last minutes. */
export interface RecentReads {
  readonly reads: number;
  readonly p99Ms: number;
}

export interface NamespaceCondition {
  readonly namespace: Namespace;
  readonly killSwitchOn: boolean;
  /** Of the newest walked slice that says what future ones are like; undefined if none does. */
  readonly verdict: SizeVerdict | undefined;
  /** What the tuner says itself. */
  readonly tuning: TuningList;
  /** Undefined if nobody has read the namespace in the last minutes. */
  readonly reads: RecentReads | undefined;
  /** Copies of dropped slices that the engine may keep; undefined if it keeps none. */
  readonly snapshots: (DroppedSnapshots & { readonly dropped: number }) | undefined;
  /** How many ids have a number of event buckets of their own, and how many can have one. */
  readonly grownIds: { readonly count: number; readonly max: number };
  /** Largest first. */
  readonly wide: readonly WidePartition[];
}

/** An id with so much of a slice is a fault of its writer more often than a popular one. */
const SHARE_OF_A_FAULT = 0.5;

export function remediesOf(condition: NamespaceCondition): Remedy[] {
  const found = [
    ...readRemedies(condition),
    ...switchRemedies(condition),
    ...tuningRemedies(condition),
    ...condition.wide.flatMap((partition) => partitionRemedies(condition, partition)),
    ...snapshotRemedies(condition),
    ...growthRemedies(condition),
  ];
  if (found.length > 0) return withoutRepeatedBlocks(found);
  return [{ problem: "none found", remedy: "NOTHING", why: healthyText(condition), command: "" }];
}

/** An id that is wide in many slices is blocked once. */
function withoutRepeatedBlocks(remedies: readonly Remedy[]): Remedy[] {
  const blocked = new Set<string>();
  return remedies.filter(({ remedy, command }) => {
    if (remedy !== "BLOCK") return true;
    const isNew = !blocked.has(command);
    blocked.add(command);
    return isNew;
  });
}

function healthyText({ verdict, tuning, reads, namespace }: NamespaceCondition): string {
  const sizes =
    verdict === undefined
      ? "none of the newest sealed slices holds enough and has the present partitioning, so sizes are not judged"
      : NO_TUNING_TEXTS[tuning.nothing ?? "FITS"];
  const read = reads === undefined ? "" : `; ${readText(reads, namespace)}`;
  return `no wide partition is known; ${sizes}${read}`;
}

/** Ids that become wide get no more event buckets of their own: their hot spots stay. */
function growthRemedies({ namespace, grownIds: { count, max } }: NamespaceCondition): Remedy[] {
  if (count < max) return [];
  const ids = max.toLocaleString("en-US");
  return [
    {
      problem: `${ids} ids have more event buckets than their slices, and there can be no more`,
      remedy: "RETUNE",
      why: "so many wide ids mean that the slices have too few event buckets, or too long time buckets",
      command: `braid tune ls ${namespace.name}`,
    },
  ];
}

/** Whether reads meet their target now, and what explains it if they do not. */
function readRemedies(condition: NamespaceCondition): Remedy[] {
  const { namespace, reads, wide, verdict } = condition;
  if (reads === undefined) return [];
  const { name, config } = namespace;
  const { targetMs, maxMs } = config.slos.read;
  const unsplit = wide.filter(({ split }) => split?.state !== "COMPLETED");
  if (reads.p99Ms <= targetMs) {
    if (unsplit.length === 0 || config.widePartition.whenHarmless === "LEAVE") return [];
    const why = `${readText(reads, namespace)}: Braid can leave wide partitions alone as long as that is so`;
    const command = `braid ns update ${name} --set widePartition.whenHarmless=LEAVE`;
    return [{ problem: "wide partitions do no harm now", remedy: "NOTHING", why, command }];
  }
  const problem = `reads take longer than their target: ${readText(reads, namespace)}`;
  const is = (remedy: Remedy["remedy"], why: string, command: string): Remedy[] => [
    { problem, remedy, why, command },
  ];
  if (unsplit.length > 0) {
    const why = "wide partitions are not split yet: see below";
    return is("SPLIT", why, `braid splits ls ${name}`);
  }
  if (verdict === "TOO_NARROW" || verdict === "TOO_WIDE") {
    return is("RETUNE", "most partitions have the wrong size: see below", `braid tune ls ${name}`);
  }
  if (reads.p99Ms > maxMs) {
    const why =
      "sizes do not explain it; callers that prefer an incomplete answer in time set allowPartial";
    return is("PARTIAL", why, "");
  }
  return is("NOTHING", "sizes do not explain it: check the load of the storage", "braid status");
}

function readText({ reads, p99Ms }: RecentReads, { config }: Namespace): string {
  const { targetMs } = config.slos.read;
  return (
    `p99 of the last ${reads.toLocaleString("en-US")} pages at this server is ` +
    `${formatDurationMs(Math.round(p99Ms))}, the target ${formatDurationMs(targetMs)}`
  );
}

function snapshotRemedies({ snapshots }: NamespaceCondition): Remedy[] {
  if (snapshots === undefined) return [];
  const { dropped, kept, clearCommand } = snapshots;
  const problem = `${dropped} dropped slices may still take up space`;
  const why = `${kept}; nodetool listsnapshots shows them`;
  return [{ problem, remedy: "NOTHING", why, command: clearCommand }];
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

/** In the tuner's own words, so that `braid tune ls` says the same. */
function tuningRemedies({ namespace, verdict, tuning }: NamespaceCondition): Remedy[] {
  const { name, config } = namespace;
  const { tunings, next, nothing } = tuning;
  const retune = (direction: "WIDEN" | "NARROW", why: string, command: string): Remedy[] => [
    { problem: PROBLEMS[direction], remedy: "RETUNE", why, command },
  ];
  const waiting = tunings.find(({ state }) => state === "PROPOSED");
  if (waiting !== undefined) {
    const why = `${waiting.observed}; a proposal waits: ${waiting.proposed}`;
    return retune(waiting.direction, why, `braid tune accept ${name} ${waiting.id}`);
  }
  const applied = tunings.find(({ state }) => state === "APPLIED");
  if (applied !== undefined) {
    const show = `braid tune show ${name} ${applied.id}`;
    if (applied.got !== null && config.tuning.mode === "OFF") {
      const why = "the last change made sizes worse, and is not taken back while tuning is off";
      return retune(applied.direction, why, show);
    }
    const why = `${NO_TUNING_TEXTS.EFFECT_NOT_MEASURED}: ${applied.proposed}`;
    return retune(applied.direction, why, show);
  }
  if (next !== undefined) {
    const why = `${next.observed}; the tuner will propose: ${next.proposed}`;
    return retune(next.direction, why, `braid tune dry-run ${name}`);
  }
  if (nothing === "FITS" || verdict === undefined || verdict === "FITS") return [];
  const problem = PROBLEMS[verdict === "TOO_WIDE" ? "NARROW" : "WIDEN"];
  const why = `nothing is proposed: ${NO_TUNING_TEXTS[nothing ?? "FITS"]}`;
  const command = noTuningCommand(nothing ?? "", name) ?? "";
  return [{ problem, remedy: command === "" ? "NOTHING" : "RETUNE", why, command }];
}

const PROBLEMS = {
  WIDEN: "most partitions are too small",
  NARROW: "many partitions are too wide",
} as const;

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
  if (bytes === 0) return "an operator asked for a split, and its size is not counted yet";
  return `${formatBytes(bytes)} in ${events.toLocaleString("en-US")} events`;
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
