import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_NAMESPACE_CONFIG } from "../model/namespace-config.ts";
import type { MoveCause } from "../model/move-cause.ts";
import { NO_LATENCY } from "../model/split.ts";
import type { SplitRecord, SplitState } from "../model/split.ts";
import { FIRST_READ_MODE } from "../model/read-mode.ts";
import { NO_TUNING_TEXTS } from "../model/no-tuning.ts";
import type { Tuning, TuningProposal } from "../model/tuning.ts";
import type { SizeVerdict } from "../tune/judge-sizes.ts";
import type { TuningList } from "../tune/tunings.ts";
import { remediesOf } from "./remedies.ts";
import type { NamespaceCondition, WidePartition } from "./remedies.ts";

const MIB = 1_048_576;

function condition(change: Partial<NamespaceCondition> = {}): NamespaceCondition {
  return {
    namespace: {
      name: "plays",
      id: "plays-1",
      config: DEFAULT_NAMESPACE_CONFIG,
      epoch: 0,
      epochStarts: [],
      reopening: null,
      floor: 0,
      createdAt: 0,
      readMode: { ...FIRST_READ_MODE, mode: "SERVE", since: 0 },
      splitsPaused: null,
      everEventual: false,
      version: 1,
    },
    killSwitchOn: false,
    verdict: "FITS",
    tuning: { tunings: [], next: undefined, nothing: "FITS" },
    reads: undefined,
    snapshots: undefined,
    grownIds: { count: 0, max: 10_000 },
    wide: [],
    ...change,
  };
}

test("ids that can no longer grow are named, and only then", () => {
  const full = remediesOf(condition({ grownIds: { count: 10_000, max: 10_000 } }));
  deepEqual(
    full.map(({ remedy, command }) => [remedy, command]),
    [["RETUNE", "braid tune ls plays"]],
  );
  const almost = remediesOf(condition({ grownIds: { count: 9_999, max: 10_000 } }));
  deepEqual(
    almost.map(({ remedy }) => remedy),
    ["NOTHING"],
  );
});

function wide(
  state: SplitState | undefined,
  cause: MoveCause = "claim",
  change: Partial<WidePartition> & { maxMs?: number } = {},
): WidePartition {
  const { maxMs = 5, ...rest } = change;
  const split = {
    state,
    history: [{ at: 1, by: "w1", from: "PLANNING", to: state, cause, reason: `because ${cause}` }],
    latency: { before: { reads: 1, meanMs: maxMs, maxMs }, after: NO_LATENCY },
  } as unknown as SplitRecord;
  return {
    timeSlice: "data_20261114",
    timeSeriesId: "it's me",
    bytes: 500 * MIB,
    events: 1_000_000,
    share: 0.1,
    splitId: "c11psr2pyb",
    split: state === undefined ? undefined : split,
    compactCommand: "nodetool compact k t",
    ...rest,
  };
}

function kinds(partition: WidePartition, change: Partial<NamespaceCondition> = {}): string[] {
  return remediesOf(condition({ wide: [partition], ...change })).map(({ remedy }) => remedy);
}

test("a healthy namespace has nothing to do, and says what was looked at", () => {
  const [only, ...more] = remediesOf(condition());
  deepEqual(more, []);
  equal(only?.remedy, "NOTHING");
  match(
    remediesOf(condition({ verdict: undefined }))[0]?.why ?? "",
    /none of the newest sealed slices holds enough/,
  );
});

test("each state of a wide partition has its rung of the ladder", () => {
  deepEqual(kinds(wide(undefined)), ["NOTHING"]);
  deepEqual(kinds(wide("PARKED", "harmless")), ["NOTHING"]);
  deepEqual(kinds(wide("REFUSED", "no-impact")), ["NOTHING"]);
  deepEqual(kinds(wide("REFUSED", "fragmented")), ["COMPACT"]);
  deepEqual(kinds(wide("SPLITTING")), ["SPLIT"]);
  deepEqual(kinds(wide("FAILED", "mismatch")), ["SPLIT"]);
  deepEqual(kinds(wide("FAILED", "mismatch", { maxMs: 5_000 })), ["SPLIT", "PARTIAL"]);
  deepEqual(kinds(wide(undefined, "claim", { share: 0.7 })), ["NOTHING", "BLOCK"]);
  // Split and served: no problem is left.
  equal(
    remediesOf(condition({ wide: [wide("COMPLETED", "confirmed")] }))[0]?.problem,
    "none found",
  );
});

test("commands can be copied: they name the split, and quote the id", () => {
  const [failed] = remediesOf(condition({ wide: [wide("FAILED", "mismatch")] }));
  equal(failed?.command, "braid splits retry plays c11psr2pyb");
  const [, block] = remediesOf(condition({ wide: [wide(undefined, "claim", { share: 0.7 })] }));
  ok(block?.command.startsWith(String.raw`braid block add plays 'it'\''s me' `));
  const [compact] = remediesOf(condition({ wide: [wide("REFUSED", "fragmented")] }));
  equal(compact?.command, "nodetool compact k t");
});

test("sizes are judged by the tuner, in its own words", () => {
  const from = DEFAULT_NAMESPACE_CONFIG.timePartition;
  const sizes = { p50: 1, p95: 1, p99: 1 };
  const next: TuningProposal = {
    direction: "WIDEN",
    evidence: [],
    observed: "Too small",
    proposed: "60s -> 3600s",
    from,
    to: from,
    dryRun: {
      before: sizes,
      after: sizes,
      partitionsPerDayBefore: 1,
      partitionsPerDayAfter: 1,
      keptLongerSeconds: 0,
      keptLongerBytes: 0,
    },
  };
  const stored = (state: Tuning["state"]): Tuning => ({
    ...next,
    id: "20261114",
    state,
    effectiveFrom: 1,
    got: null,
    history: [],
  });
  const first = (tuning: Partial<TuningList>, verdict: SizeVerdict = "TOO_NARROW") => {
    const whole = { tunings: [], next: undefined, nothing: undefined, ...tuning };
    const [remedy] = remediesOf(condition({ verdict, tuning: whole }));
    return [remedy?.remedy, remedy?.command, remedy?.why];
  };
  deepEqual(first({ next }).slice(0, 2), ["RETUNE", "braid tune dry-run plays"]);
  const waits = { tunings: [stored("PROPOSED")], nothing: "DECIDED_BEFORE" as const };
  deepEqual(first(waits).slice(0, 2), ["RETUNE", "braid tune accept plays 20261114"]);
  const applied = { tunings: [stored("APPLIED")], nothing: "EFFECT_NOT_MEASURED" as const };
  deepEqual(first(applied).slice(0, 2), ["RETUNE", "braid tune show plays 20261114"]);
  deepEqual(first({ nothing: "OFF" }).slice(0, 2), [
    "RETUNE",
    "braid ns update plays --set tuning.mode=PROPOSE",
  ]);
  for (const nothing of [
    "COOLING_DOWN",
    "NOT_READ",
    "SLICES_DISAGREE",
    "NOTHING_BETTER",
  ] as const) {
    const why = `nothing is proposed: ${NO_TUNING_TEXTS[nothing]}`;
    deepEqual(first({ nothing }), ["NOTHING", "", why]);
  }
  // The tuner looks at two slices, and has the last word.
  match(first({ nothing: "FITS" })[2] ?? "", /partitions have the target size/);
});

test("reads beyond their target are a problem, and wide partitions of fast reads are none", () => {
  const slow = { reads: 1_234, p99Ms: 820 };
  const first = (change: Partial<NamespaceCondition>): (string | undefined)[] => {
    const [remedy] = remediesOf(condition(change));
    return [remedy?.remedy, remedy?.problem];
  };
  const problem =
    "reads take longer than their target: p99 of the last 1,234 pages at this server is 820ms, the target 500ms";
  deepEqual(first({ reads: slow }), ["NOTHING", problem]);
  deepEqual(first({ reads: slow, verdict: "TOO_NARROW" }), ["RETUNE", problem]);
  deepEqual(first({ reads: slow, wide: [wide("SPLITTING")] }), ["SPLIT", problem]);
  equal(first({ reads: { reads: 10, p99Ms: 5_000 } })[0], "PARTIAL");
  const harmless = remediesOf(
    condition({ reads: { reads: 10, p99Ms: 12 }, wide: [wide("SPLITTING")] }),
  )[0];
  deepEqual(
    [harmless?.remedy, harmless?.command],
    ["NOTHING", "braid ns update plays --set widePartition.whenHarmless=LEAVE"],
  );
});

test("E6, C26: snapshots that Cassandra may keep of dropped slices are reported with their command", () => {
  const snapshots = {
    kept: "auto_snapshot is on",
    clearCommand: "nodetool clearsnapshot",
    dropped: 3,
  };
  const [found] = remediesOf(condition({ snapshots }));
  deepEqual(found, {
    problem: "3 dropped slices may still take up space",
    remedy: "NOTHING",
    why: "auto_snapshot is on; nodetool listsnapshots shows them",
    command: "nodetool clearsnapshot",
  });
});

test("a size that nobody has counted yet is not shown as zero", () => {
  const [found] = remediesOf(
    condition({ wide: [wide("DETECTED", "claim", { bytes: 0, events: 0 })] }),
  );
  match(found?.problem ?? "", /its size is not counted yet$/);
});

test("what holds all splits back comes first", () => {
  const { namespace } = condition();
  const held = {
    ...namespace,
    readMode: { ...namespace.readMode, mode: "OFF" as const },
    splitsPaused: { at: 1, by: "ada", reason: "a load test" },
  };
  const commands = remediesOf(
    condition({ namespace: held, killSwitchOn: true, wide: [wide("COMPLETED", "confirmed")] }),
  ).map(({ command }) => command);
  deepEqual(commands, [
    "braid kill-switch off",
    "braid splits resume plays",
    "braid modes set plays SHADOW",
    "braid modes get plays",
  ]);
});
