/**
 * `npm run bench -- fleet-policy [--namespaces 2000] [--seed 1] [--svg DIR]`: the policies of tuner
 * and splitter over a fleet of simulated namespaces for a simulated year. No clock, no storage: the
 * figures depend on the seed alone.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { SeededRandom } from "../tests/sim/seeded-random.ts";
import { KINDS, makeNamespace, YEAR_DAYS } from "./fleet-policy/fleet.ts";
import type { Kind, SimulatedNamespace } from "./fleet-policy/fleet.ts";
import { lineChart } from "./fleet-policy/plot.ts";
import { runNamespace } from "./fleet-policy/run-namespace.ts";
import type { NamespaceYear } from "./fleet-policy/run-namespace.ts";
import { note, Report } from "./support/report.ts";
import { median } from "./support/stats.ts";

export const FLEET_POLICY_FLAGS = "[--namespaces 2000] [--seed 1] [--svg DIR]";

/** Sealed slices after a step until the decided partitioning must fit. */
const SLICES_TO_ADAPT = 2;
const WEEKS = YEAR_DAYS / 7;

interface Outcome {
  readonly namespace: SimulatedNamespace;
  readonly untuned: NamespaceYear;
  readonly tuned: NamespaceYear;
}

export async function benchFleetPolicy(flags: readonly string[]): Promise<Report> {
  const { values } = parseArgs({
    args: [...flags],
    options: {
      namespaces: { type: "string", default: "2000" },
      seed: { type: "string", default: "1" },
      svg: { type: "string" },
    },
  });
  const random = new SeededRandom(Number(values.seed));
  const outcomes: Outcome[] = [];
  for (let nth = 0; nth < Number(values.namespaces); nth++) {
    const namespace = makeNamespace(KINDS[nth % KINDS.length] as Kind, () => random.fraction());
    const untuned = runNamespace(namespace, false);
    outcomes.push({ namespace, untuned, tuned: runNamespace(namespace, true) });
    if (nth % 200 === 199) note(`${nth + 1} namespaces`);
  }
  if (values.svg !== undefined) await draw(values.svg, outcomes);
  return reportOf(outcomes);
}

function reportOf(outcomes: readonly Outcome[]): Report {
  const report = new Report("fleet-policy");
  const adapted = outcomes.flatMap(adaptedAfterStep);
  addShare(
    report,
    "decided partitioning fits within two sealed slices after a step",
    adapted,
    0.95,
  );
  const calm = outcomes.map(({ tuned }) => tuned.thrashes === 0);
  addShare(report, "namespaces without a change undone within three slices", calm, 0.99);
  const backfilled = outcomes.filter(({ namespace }) => namespace.kind === "backfilled");
  // The same namespace without the backfill decides the same.
  const unmoved = backfilled.map(({ namespace, tuned }) => {
    const without = runNamespace({ ...namespace, eventDay: Number.POSITIVE_INFINITY }, true);
    return tuned.changes.every(({ to }) =>
      without.changes.some((each) => isDeepStrictEqual(each.to, to)),
    );
  });
  addShare(report, "namespaces that a backfill does not move", unmoved, 1);
  const policies = [
    { name: "no tuning", wide: wideShare(outcomes, "untuned", "wide"), goal: undefined },
    { name: "tuning", wide: wideShare(outcomes, "tuned", "wide"), goal: undefined },
    {
      name: "tuning and splitting",
      wide: wideShare(outcomes, "tuned", "wideWithSplits"),
      goal: 0.1,
    },
  ];
  for (const { name, wide, goal } of policies) {
    report.add({
      name: `reads that touch a wide partition, ${name}, %`,
      figure: "200 reads a day and id, 24 h each",
      value: wide * 100,
      goal: goal === undefined ? "-" : `< ${goal}`,
      met: goal === undefined || wide * 100 < goal,
    });
  }
  for (const side of ["untuned", "tuned"] as const) {
    const perRead = outcomes.map((each) => {
      const reads = sum(each[side].slices.map((slice) => slice.reads.reads));
      return sum(each[side].slices.map((slice) => slice.reads.partitions)) / reads;
    });
    report.add({
      name: `partitions that a read of 24 h asks, ${side}, mean over namespaces`,
      figure: `median ${median(perRead).toFixed(1)}`,
      value: sum(perRead) / perRead.length,
      goal: "-",
      met: true,
    });
  }
  const days = outcomes.flatMap(daysUntilFit).toSorted((a, b) => a - b);
  report.add({
    name: "days until slices fit, after a step or a wrong guess that did not fit, median",
    figure: `95 % within ${days[Math.floor(days.length * 0.95)] ?? 0} days, of ${days.length}`,
    value: median(days),
    goal: "-",
    met: true,
  });
  const changes = outcomes.map(({ tuned }) => tuned.changes.length);
  report.add({
    name: "changes per namespace and year",
    figure: `at most ${Math.max(...changes)}; ${sum(outcomes.map(({ tuned }) => tuned.takenBack))} of ${sum(changes)} took one back`,
    value: sum(changes) / changes.length,
    goal: "-",
    met: true,
  });
  for (const kind of KINDS) {
    const of = outcomes.filter(({ namespace }) => namespace.kind === kind);
    const fits = (side: "untuned" | "tuned"): number => {
      const slices = of.flatMap((each) => each[side].slices.filter(({ day }) => day >= 30));
      return slices.filter((slice) => slice.fits).length / Math.max(1, slices.length);
    };
    report.add({
      name: `slices that fit after 30 days, ${kind}`,
      figure: `${(fits("untuned") * 100).toFixed(1)} % without tuning`,
      value: fits("tuned") * 100,
      goal: "-",
      met: true,
    });
  }
  return report;
}

/** For each step: whether what was decided two sealed slices later fits. The start is a step too. */
function adaptedAfterStep({ namespace, tuned }: Outcome): boolean[] {
  if (namespace.kind !== "step" && namespace.kind !== "misestimated") return [];
  // A slice in which the traffic changes shows neither level.
  const whole = tuned.slices.findIndex(({ day }) => day >= namespace.eventDay);
  const shown = tuned.slices[whole + SLICES_TO_ADAPT - 1];
  return shown === undefined ? [] : [shown.decidedFits];
}

/** Nothing if the slices fit all along, or never do. */
function daysUntilFit({ namespace, tuned }: Outcome): number[] {
  if (namespace.kind !== "step" && namespace.kind !== "misestimated") return [];
  const slices = tuned.slices.filter(({ day }) => day >= namespace.eventDay);
  const fitting = slices.findIndex(({ fits }) => fits);
  return fitting <= 0 ? [] : [(slices[fitting]?.day ?? 0) - namespace.eventDay];
}

function wideShare(
  outcomes: readonly Outcome[],
  side: "untuned" | "tuned",
  which: "wide" | "wideWithSplits",
): number {
  const shares = outcomes.map((each) => {
    const reads = sum(each[side].slices.map((slice) => slice.reads.reads));
    return sum(each[side].slices.map((slice) => slice.reads[which])) / reads;
  });
  return sum(shares) / shares.length;
}

function addShare(report: Report, name: string, of: readonly boolean[], goal: number): void {
  const share = of.filter(Boolean).length / Math.max(1, of.length);
  const figure = `${of.filter(Boolean).length} of ${of.length}`;
  report.add({
    name: `${name}, %`,
    figure,
    value: share * 100,
    goal: `>= ${goal * 100}`,
    met: share >= goal,
  });
}

async function draw(directory: string, outcomes: readonly Outcome[]): Promise<void> {
  const weekly = (
    side: "untuned" | "tuned",
    value: (slice: NamespaceYear["slices"][number]) => number,
  ): number[] =>
    Array.from({ length: WEEKS }, (_, week) => {
      const slices = outcomes.flatMap((each) =>
        each[side].slices.filter(({ day }) => Math.floor(day / 7) === week),
      );
      return slices.length === 0 ? Number.NaN : sum(slices.map(value)) / slices.length;
    });
  const fits = (slice: NamespaceYear["slices"][number]): number => (slice.fits ? 100 : 0);
  await mkdir(directory, { recursive: true });
  const inBand = lineChart({
    title: "Slices whose partitions have the wanted size",
    x: "week",
    y: "% of slices",
    xMax: WEEKS,
    yMax: 100,
    lines: [
      { name: "no tuning", values: filled(weekly("untuned", fits)) },
      { name: "tuning", values: filled(weekly("tuned", fits)) },
    ],
  });
  await writeFile(join(directory, "fleet-policy-fit.svg"), inBand);
  const wide = (which: "wide" | "wideWithSplits") => (slice: NamespaceYear["slices"][number]) =>
    (slice.reads[which] / slice.reads.reads) * 100;
  const lines = [
    { name: "no tuning", values: filled(weekly("untuned", wide("wide"))) },
    { name: "tuning", values: filled(weekly("tuned", wide("wide"))) },
    { name: "tuning + splitting", values: filled(weekly("tuned", wide("wideWithSplits"))) },
  ];
  const wideReads = lineChart({
    title: "Reads that touch a wide partition",
    x: "week",
    y: "% of reads",
    xMax: WEEKS,
    yMax: Math.max(1, ...lines.flatMap(({ values }) => values)),
    lines,
  });
  await writeFile(join(directory, "fleet-policy-wide-reads.svg"), wideReads);
}

/** A week in which no slice begins has the value of the week before. */
function filled(values: readonly number[]): number[] {
  let last = 0;
  return values.map((value) => (last = Number.isNaN(value) ? last : value));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}
