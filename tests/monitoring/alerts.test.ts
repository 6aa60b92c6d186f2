/**
 * The alerts of deploy/prometheus: promtool accepts them, each fires in a scenario that should fire
 * it and stays silent in the nearest one that should not, and each has a runbook.
 *
 * @needs prometheus
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { parse, stringify } from "yaml";
import { readRunbooks, RUNBOOKS_FILE } from "../../scripts/dashboards/runbooks.ts";
import { ALERT_CASES } from "./alert-cases.ts";
import type { Scenario } from "./alert-cases.ts";
import { promtool } from "./prometheus.ts";
import { problemsOf } from "./used-metrics.ts";

const FOLDER = "deploy/prometheus";
const RULES = `${FOLDER}/alerts.yaml`;

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<string, string>>;
}

const { groups } = parse(readFileSync(RULES, "utf8")) as {
  groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);

interface Expectation {
  readonly alert: string;
  readonly scenario: Scenario;
  /** How many alerts of the name fire. */
  readonly count: number;
}

/** Scenarios that are longer are evaluated every ten minutes, to save time. */
const LONG_MINUTES = 100;

/** What `promtool test rules` says against the expectations; "" if nothing. */
async function complaintsOf(expectations: readonly Expectation[]): Promise<string> {
  const isLong = ({ scenario }: Expectation): boolean => scenario.at > LONG_MINUTES;
  const short = await testRules(
    "1m",
    expectations.filter((each) => !isLong(each)),
  );
  return short + (await testRules("10m", expectations.filter(isLong)));
}

async function testRules(every: string, expectations: readonly Expectation[]): Promise<string> {
  if (expectations.length === 0) return "";
  const folder = mkdtempSync(join(tmpdir(), "braid-alerts-"));
  const file = join(folder, "test.yaml");
  const tests = expectations.map(({ alert, scenario, count }) => ({
    interval: "1m",
    input_series: Object.entries(scenario.series).map(([series, values]) => ({ series, values })),
    promql_expr_test: [
      {
        expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`,
        eval_time: `${scenario.at}m`,
        exp_samples: [{ labels: "{}", value: count }],
      },
    ],
  }));
  try {
    const content = { rule_files: [resolve(RULES)], evaluation_interval: every, tests };
    writeFileSync(file, stringify(content));
    const { code, words } = await promtool(["test", "rules", file]);
    return code === 0 ? "" : words;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("promtool accepts the rules and the configuration", async () => {
  const checked = await promtool(["check", "rules", RULES]);
  equal(checked.code, 0, checked.words);
  match(checked.words, new RegExp(`SUCCESS: ${rules.length} rules found`));
  const config = await promtool(["check", "config", `${FOLDER}/prometheus.yml`]);
  equal(config.code, 0, config.words);
});

test("each alert has a scenario that fires it and one that does not", () => {
  deepEqual(Object.keys(ALERT_CASES).toSorted(), rules.map(({ alert }) => alert).toSorted());
});

test("each alert fires where it should", async () => {
  const complaints = await complaintsOf(
    Object.entries(ALERT_CASES).map(([alert, { fires }]) => ({ alert, scenario: fires, count: 1 })),
  );
  equal(complaints, "");
});

test("each alert is silent where it should be", async () => {
  const complaints = await complaintsOf(
    Object.entries(ALERT_CASES).map(([alert, { silent }]) => ({
      alert,
      scenario: silent,
      count: 0,
    })),
  );
  equal(complaints, "");
});

test("a scenario that should fire and does not is found", async () => {
  const silent = ALERT_CASES["BraidKillSwitchOn"]?.silent ?? { series: {}, at: 0 };
  const wrong = { alert: "BraidKillSwitchOn", scenario: silent, count: 1 };
  match(await complaintsOf([wrong]), /FAILED/);
});

test("splits that are paused, or that move, are not stuck", async () => {
  const { fires } = ALERT_CASES["BraidSplitsStuck"] ?? { fires: { series: {}, at: 0 } };
  const of = 'job="braid",instance="a:1",namespace="plays"';
  const excuses = {
    [`braid_splits_paused{${of}}`]: "1x2000",
    [`braid_split_moves_total{${of},state="COMPLETED"}`]: "0+1x2000",
  };
  const expectations = Object.entries(excuses).map(([series, values]) => {
    const scenario = { ...fires, series: { ...fires.series, [series]: values } };
    return { alert: "BraidSplitsStuck", scenario, count: 0 };
  });
  const complaints = await complaintsOf(expectations);
  equal(complaints, "");
});

test("a counter that a restart sets to zero fires no alert", async () => {
  const restarted = "5x5 0x1990";
  const complaints = await complaintsOf(
    ["BraidDataLoss", "BraidDeadLetters", "BraidSplitDiffers", "BraidEventsLost"].map((alert) => {
      const [series = ""] = Object.keys(ALERT_CASES[alert]?.fires.series ?? {});
      return { alert, scenario: { series: { [series]: restarted }, at: 8 }, count: 0 };
    }),
  );
  equal(complaints, "");
});

test("rules use only metrics, labels and label values that exist, and as their types allow", () => {
  deepEqual(
    rules.flatMap(({ alert, expr }) => problemsOf(expr).map((problem) => `${alert}: ${problem}`)),
    [],
  );
});

test("each alert has a severity, a sentence and a link to its runbook, which says what to see and do", () => {
  const runbooks = readRunbooks(readFileSync(RUNBOOKS_FILE, "utf8"));
  deepEqual(
    runbooks.map(({ alert }) => alert).toSorted(),
    rules.map(({ alert }) => alert).toSorted(),
  );
  for (const { alert, labels, annotations } of rules) {
    const text = runbooks.find((each) => each.alert === alert)?.text ?? "";
    ok(text.toLowerCase().startsWith(`${labels.severity}. `), `${alert}: severity`);
    match(text, /^- \*\*See\*\*: /m, alert);
    match(text, /^- \*\*Do\*\*: /m, alert);
    match(annotations["summary"] ?? "", /^.{20,}\.$/, alert);
    ok(
      annotations["runbook_url"]?.endsWith(`docs/operate/alerts.md#${alert.toLowerCase()}`),
      alert,
    );
  }
  deepEqual([...new Set(rules.map(({ labels }) => labels.severity))].toSorted(), [
    "critical",
    "info",
    "warning",
  ]);
});
