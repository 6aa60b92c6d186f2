import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { Problems } from "../lib/problems.ts";
import { checkConfig, namespaceNameProblem } from "./check-config.ts";
import { mergeConfig } from "./merge-config.ts";
import type { NamespaceConfigPatch } from "./merge-config.ts";
import { DEFAULT_NAMESPACE_CONFIG, SECOND_MICROS } from "./namespace-config.ts";
import { timeMargins } from "./time-margins.ts";

const MARGINS = timeMargins({
  clockSkewMs: 1_000,
  viewMaxAgeMs: 10_000,
  writeMaxMs: 10_000,
});

function problemsOf(patch: NamespaceConfigPatch, problems = new Problems()): readonly string[] {
  const { config } = mergeConfig(DEFAULT_NAMESPACE_CONFIG, patch, []);
  checkConfig(config, MARGINS, problems);
  return problems.list();
}

test("the defaults have no problems", () => {
  deepEqual(problemsOf({}), []);
});

const CASES: readonly [string, NamespaceConfigPatch, RegExp][] = [
  [
    "a bucket that does not divide",
    { timePartition: { secondsPerTimeBucket: 7_000 } },
    /secondsPerTimeBucket \(7000\) does not divide/,
  ],
  [
    "a bucket longer than the slice",
    {
      timePartition: { secondsPerTimeSlice: 600 },
      futureLimitMicros: 0,
      retention: {
        deleteAfterMicros: 100_000 * SECOND_MICROS,
        closeAfterMicros: 90_000 * SECOND_MICROS,
      },
    },
    /is longer than timePartition.secondsPerTimeSlice \(600\)/,
  ],
  [
    "no event bucket",
    { timePartition: { eventBuckets: 0 } },
    /eventBuckets \(0\) must be from 1 to 1024/,
  ],
  [
    "too many buckets",
    { timePartition: { secondsPerTimeSlice: 864_000, secondsPerTimeBucket: 1 } },
    /makes 864000 buckets/,
  ],
  [
    "a slice of half a second",
    { timePartition: { secondsPerTimeSlice: 0.5 } },
    /secondsPerTimeSlice \(0.5\) must be from/,
  ],
  [
    "accepting beyond closing",
    { acceptLimitMicros: 1_295_990 * SECOND_MICROS },
    /acceptLimit \(1295990s\) and 21s .* less than retention.closeAfter \(1296000s\)/,
  ],
  [
    "accepting until the very moment of closing, by clocks, writes and views that are all late",
    { acceptLimitMicros: 1_295_979 * SECOND_MICROS },
    /acceptLimit \(1295979s\) and 21s .* less than retention.closeAfter \(1296000s\)/,
  ],
  [
    "closing after deleting",
    { retention: { closeAfterMicros: 1_382_400 * SECOND_MICROS } },
    /retention.closeAfter \(1382400s\) must be less than retention.deleteAfter/,
  ],
  [
    "a future of a whole slice",
    { futureLimitMicros: 86_400 * SECOND_MICROS },
    /futureLimit \(86400s\) must be less than a slice/,
  ],
  [
    "too many slices",
    { timePartition: { secondsPerTimeSlice: 60, secondsPerTimeBucket: 60 }, futureLimitMicros: 0 },
    /makes 23050 slices/,
  ],
  [
    "a target above its maximum",
    { slos: { read: { targetMs: 2_000 } } },
    /slos.read.target \(2s\) is above slos.read.max \(1s\)/,
  ],
  [
    "parts that are wide themselves",
    { widePartition: { targetBytes: 20_971_520 } },
    /targetBytes .* is above widePartition.bytesMax/,
  ],
  [
    "a tiny target",
    { widePartition: { targetBytes: 1_000 } },
    /targetBytes \(1000 bytes\) must be from 65536 bytes/,
  ],
  [
    "an unknown strategy",
    { widePartition: { strategy: "BEST" } },
    /widePartition.strategy \("BEST"\) must be AUTO/,
  ],
  [
    "densities the wrong way round",
    { tuning: { densityMinBytes: 10_485_760 } },
    /densityMinBytes .* must be less than tuning.densityMaxBytes/,
  ],
  ["not a number", { acceptLimitMicros: Number.NaN }, /acceptLimit \(NaNs\) must be from/],
];

for (const [what, patch, expected] of CASES) {
  test(`DE11, G6: ${what} is one problem, reported with the field and its value`, () => {
    const problems = problemsOf(patch);
    equal(problems.length, 1, problems.join("\n"));
    match(problems[0] ?? "", expected);
  });
}

test("the planner may choose the strategy, or the configuration names one", () => {
  for (const strategy of ["AUTO", "EVENT_BUCKETS", "TIME_BUCKETS", "HASH"]) {
    deepEqual(problemsOf({ widePartition: { strategy } }), []);
  }
});

test("all problems are reported at once", () => {
  const problems = problemsOf({
    timePartition: { eventBuckets: 5_000 },
    futureLimitMicros: -1,
    slos: { write: { targetMs: 0 } },
    widePartition: { maxParts: 0 },
  });
  equal(problems.length, 4, problems.join("\n"));
});

test("Z6: a namespace's name is short, lower case and begins with a letter", () => {
  for (const name of ["a", "plays", "p_2", "a".repeat(40)])
    equal(namespaceNameProblem(name), undefined);
  for (const name of ["", "1a", "Plays", "a-b", "a/b", "a".repeat(41), "a\n"]) {
    ok(namespaceNameProblem(name), name);
  }
});
