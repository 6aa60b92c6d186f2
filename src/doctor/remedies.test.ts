import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_NAMESPACE_CONFIG } from "../model/namespace-config.ts";
import type { MoveCause } from "../model/move-cause.ts";
import { NO_LATENCY } from "../model/split.ts";
import type { SplitRecord, SplitState } from "../model/split.ts";
import { FIRST_READ_MODE } from "../model/read-mode.ts";
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
    sizes: { verdict: "FITS", observed: "It fits." },
    waitingTuning: undefined,
    appliedTuning: undefined,
    wide: [],
    ...change,
  };
}

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
  match(remediesOf(condition({ sizes: undefined }))[0]?.why ?? "", /no sealed slice was walked/);
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

test("most partitions of the wrong size ask for tuning, by what the namespace allows", () => {
  const sizes = { verdict: "TOO_NARROW" as const, observed: "Too small." };
  const command = (change: Partial<NamespaceCondition>): string | undefined =>
    remediesOf(condition({ sizes, ...change }))[0]?.command;
  equal(command({}), "braid tune ls plays");
  equal(command({ waitingTuning: "20261114" }), "braid tune accept plays 20261114");
  equal(command({ appliedTuning: "20261114" }), "braid tune show plays 20261114");
  const { namespace } = condition();
  const { config } = namespace;
  const off = {
    ...namespace,
    config: { ...config, tuning: { ...config.tuning, mode: "OFF" as const } },
  };
  equal(command({ namespace: off }), "braid ns update plays --set tuning.mode=PROPOSE");
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
