/**
 * The dashboards of deploy/grafana, against a real Prometheus that scrapes a real server and a real
 * worker: every query is one that Prometheus takes, and every metric and label in it exists.
 *
 * @needs prometheus
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { parse } from "yaml";
import { startMonitored } from "./monitored.ts";
import type { Monitored } from "./monitored.ts";
import { declaredName, problemsOf, selectorsOf } from "./used-metrics.ts";

interface Target {
  readonly refId: string;
  readonly expr: string;
  readonly legendFormat: string;
  readonly datasource: unknown;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly targets?: readonly Target[];
  readonly links?: readonly { readonly url: string }[];
  readonly options?: { readonly content?: string; readonly yAxis?: { readonly unit: string } };
  readonly fieldConfig?: {
    readonly defaults: {
      readonly unit?: string;
      readonly thresholds?: { readonly steps: readonly { readonly value: number | null }[] };
    };
  };
}

interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly definition?: string }[];
  };
}

const FILES = globSync("deploy/grafana/*.json").toSorted();
const dashboards = FILES.map((path) => JSON.parse(readFileSync(path, "utf8")) as Dashboard);
const panels = dashboards.flatMap((dashboard) =>
  dashboard.panels.map((panel) => ({ ...panel, of: dashboard })),
);
const withQueries = panels.filter(({ targets }) => targets !== undefined);
const targets = withQueries.flatMap((panel) =>
  (panel.targets ?? []).map((target) => ({ ...target, panel })),
);

/** As Grafana fills the variables in. */
function filled(expr: string): string {
  return expr
    .replaceAll("$__rate_interval", "5m")
    .replaceAll("$job", "braid")
    .replaceAll("$instance", ".*")
    .replaceAll("$namespace", ".*");
}

let monitored: Monitored;

before(async () => {
  monitored = await startMonitored();
});

after(async () => {
  await monitored[Symbol.asyncDispose]();
});

test("there is a dashboard for each subject, each with its own uid and of Grafana's present form", () => {
  deepEqual(
    dashboards.map(({ uid }) => uid),
    ["engine", "fleet", "overview", "read-modes", "runbooks", "splits"].map(
      (name) => `braid-${name}`,
    ),
  );
  equal(new Set(dashboards.map(({ title }) => title)).size, dashboards.length);
  for (const { schemaVersion } of dashboards) equal(schemaVersion, 41);
});

test("panels have unique ids and titles, lie inside the grid and do not overlap", () => {
  for (const { title, panels: own } of dashboards) {
    equal(new Set(own.map(({ id }) => id)).size, own.length, title);
    equal(new Set(own.map((panel) => panel.title)).size, own.length, `${title}: titles`);
    const taken = new Set<string>();
    for (const { gridPos, title: name } of own) {
      ok(gridPos.x + gridPos.w <= 24, name);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          ok(!taken.has(`${x} ${y}`), `${name} overlaps another panel`);
          taken.add(`${x} ${y}`);
        }
      }
    }
  }
});

test("every panel says what it shows, has a unit, a query, a legend and rising thresholds", () => {
  for (const { title, description, type, fieldConfig, options, targets: own = [] } of withQueries) {
    ok((description ?? "").length > 10 && /[.?]$/.test(description ?? ""), `${title}: description`);
    ok((fieldConfig?.defaults.unit ?? options?.yAxis?.unit ?? "") !== "", `${title}: unit`);
    ok(own.length > 0, title);
    equal(new Set(own.map(({ refId }) => refId)).size, own.length, title);
    equal(new Set(own.map(({ expr }) => expr)).size, own.length, `${title}: the same query twice`);
    for (const target of own) {
      deepEqual(target.datasource, { type: "prometheus", uid: "${datasource}" });
      ok(type === "table" || target.legendFormat !== "", `${title}: legend`);
    }
    const steps = (fieldConfig?.defaults.thresholds?.steps ?? []).map(({ value }) => value ?? -1);
    deepEqual(
      steps,
      steps.toSorted((a, b) => a - b),
      `${title}: thresholds`,
    );
  }
});

test("a legend names only labels that its query keeps", () => {
  for (const { expr, legendFormat, panel } of targets) {
    for (const [, label = ""] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
      const grouped = new RegExp(`by \\([^)]*\\b${label}\\b[^)]*\\)`).test(expr);
      ok(grouped, `${panel.title}: {{${label}}} in ${expr}`);
    }
  }
});

test("queries use only metrics, labels and label values that the code declares, and as their types allow", () => {
  deepEqual(
    targets.flatMap(({ expr, panel }) =>
      problemsOf(filled(expr)).map((problem) => `${panel.title}: ${problem}`),
    ),
    [],
  );
  // The check itself finds what it should.
  equal(problemsOf("rate(braid_connections[5m])").length, 1);
  equal(problemsOf("sum(braid_no_such_metric)").length, 1);
  equal(problemsOf('braid_splits{state="LOST"}').length, 1);
  equal(problemsOf('braid_splits{colour="red"}').length, 1);
  equal(problemsOf('braid_requests_total{method="Guess"}').length, 1);
  equal(problemsOf('braid_requests_total{code=~"OK|BAD"}').length, 1);
  equal(problemsOf("sum by (slice) (braid_kill_switch)").length, 1);
  equal(problemsOf("braid_read_seconds").length, 1);
});

test("Prometheus takes every query, and a real server, worker or node has every metric in it", async () => {
  const types = await monitored.prometheus.types();
  for (const { expr, panel } of targets) {
    const query = filled(expr);
    ok(!query.includes("$"), `${panel.title}: a variable is left in ${query}`);
    await monitored.prometheus.query(query);
    for (const { metric } of selectorsOf(query)) {
      if (metric === "up" || metric === "ALERTS") continue;
      const bare = metric.replace(/_(?:bucket|sum|count)$/, "");
      ok(types.has(declaredName(metric)) || types.has(bare), `${panel.title}: ${metric}`);
    }
  }
});

test("every gauge, counter and histogram that a used server shows has series for its panel", async () => {
  const empty: string[] = [];
  for (const { expr, panel } of targets) {
    const answer = await monitored.prometheus.query(filled(expr));
    if (answer.length === 0) empty.push(panel.title);
  }
  // These need what this server has not done: no alert fires.
  deepEqual([...new Set(empty)].toSorted(), ["Alerts that fire"]);
});

test("variables come from metrics that exist, and every dashboard's queries use only its variables", async () => {
  for (const { title, templating, panels: own } of dashboards) {
    const names = new Set(templating.list.map(({ name }) => name));
    for (const { targets: queries = [] } of own) {
      for (const { expr } of queries) {
        for (const [, name = ""] of expr.matchAll(/\$(\w+)/g)) {
          ok(names.has(name) || name === "__rate_interval", `${title}: $${name}`);
        }
      }
    }
    for (const { definition } of templating.list) {
      if (definition === undefined) continue;
      const [, selector = "", label = ""] = /^label_values\((.+), (\w+)\)$/.exec(definition) ?? [];
      const found = await monitored.prometheus.query(filled(selector));
      ok(
        found.some(({ metric }) => metric[label] !== undefined),
        definition,
      );
    }
  }
});

test("links to runbooks lead to the panel of that alert, and every alert has one", () => {
  const rules = parse(readFileSync("deploy/prometheus/alerts.yaml", "utf8")) as {
    groups: readonly { rules: readonly { alert: string }[] }[];
  };
  const alerts = rules.groups.flatMap((group) => group.rules.map(({ alert }) => alert));
  const runbooks = dashboards.find(({ uid }) => uid === "braid-runbooks");
  const notes = (runbooks?.panels ?? []).filter(({ type }) => type === "text");
  deepEqual(notes.map(({ title }) => title).toSorted(), alerts.toSorted());
  for (const { options, title } of notes) ok((options?.content ?? "").length > 100, title);
  const linked = new Set<string>();
  for (const panel of panels) {
    for (const link of (panel.links ?? []) as readonly { title: string; url: string }[]) {
      const id = /^\/d\/braid-runbooks\?viewPanel=(\d+)$/.exec(link.url)?.[1];
      const note = notes.find((each) => each.id === Number(id));
      equal(link.title, `Runbook: ${note?.title}`);
      linked.add(note?.title ?? "");
    }
  }
  deepEqual(
    alerts.filter((alert) => !linked.has(alert)),
    [],
    "alerts that no panel shows",
  );
});

test("the provisioned data source and folder are those that the dashboards expect", () => {
  const folder = "deploy/grafana/provisioning";
  const sources = parse(readFileSync(`${folder}/datasources/prometheus.yaml`, "utf8")) as {
    datasources: readonly { type: string; url: string }[];
  };
  equal(sources.datasources[0]?.type, "prometheus");
  match(sources.datasources[0]?.url ?? "", /:9090$/);
  ok(existsSync(`${folder}/dashboards/braid.yaml`));
});
