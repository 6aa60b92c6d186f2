/**
 * Writes deploy/grafana/*.json from the descriptions in scripts/dashboards.
 *
 * `--check` writes nothing and fails if a file is not what its description says.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { format } from "prettier";
import { ENGINE } from "./dashboards/engine.ts";
import { FLEET } from "./dashboards/fleet.ts";
import { OVERVIEW } from "./dashboards/overview.ts";
import { DATASOURCE, layOut } from "./dashboards/panel.ts";
import type { Panel, Row } from "./dashboards/panel.ts";
import { READ_MODES } from "./dashboards/read-modes.ts";
import { readRunbooks, RUNBOOKS_FILE, runbookRows } from "./dashboards/runbooks.ts";
import { SPLITS } from "./dashboards/splits.ts";

const FOLDER = join(import.meta.dirname, "..", "deploy", "grafana");
/** Of Grafana 12. */
const SCHEMA_VERSION = 41;
const RUNBOOKS_UID = "braid-runbooks";

interface Dashboard {
  readonly file: string;
  readonly title: string;
  readonly description: string;
  readonly rows: readonly Row[];
}

const runbooks = readRunbooks(readFileSync(RUNBOOKS_FILE, "utf8"));

const DASHBOARDS: readonly Dashboard[] = [
  {
    file: "overview",
    title: "Braid: overview",
    description: "Is it well: alerts, requests, events, limits.",
    rows: OVERVIEW,
  },
  {
    file: "splits",
    title: "Braid: wide partitions and splits",
    description: "How wide partitions are, and how splitting them proceeds.",
    rows: SPLITS,
  },
  {
    file: "read-modes",
    title: "Braid: read modes",
    description: "Whether reads use splits, and what comparisons say.",
    rows: READ_MODES,
  },
  {
    file: "engine",
    title: "Braid: storage engine",
    description: "The embedded engine's disk, or Cassandra.",
    rows: ENGINE,
  },
  {
    file: "fleet",
    title: "Braid: fleet",
    description: "The processes: versions, load, age of shared state.",
    rows: FLEET,
  },
];

/** Ids that `layOut` gives the panels of the runbooks: the row has the first. */
const runbookIds = new Map(runbooks.map(({ alert }, nth) => [alert, nth + 2]));

function linksOf(panel: Panel): readonly unknown[] {
  return panel.alerts.map((alert) => {
    const id = runbookIds.get(alert);
    if (id === undefined) throw new Error(`"${panel.title}" links to ${alert}: no such runbook`);
    return {
      title: `Runbook: ${alert}`,
      url: `/d/${RUNBOOKS_UID}?viewPanel=${id}`,
      targetBlank: true,
    };
  });
}

function jsonOf({ file, title, description, rows }: Dashboard, variables: readonly unknown[]) {
  return {
    uid: `braid-${file}`,
    title,
    description,
    tags: ["braid"],
    schemaVersion: SCHEMA_VERSION,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    time: { from: "now-3h", to: "now" },
    timezone: "browser",
    links: [
      {
        type: "dashboards",
        title: "Braid",
        tags: ["braid"],
        asDropdown: false,
        includeVars: true,
        keepTime: true,
        targetBlank: false,
        icon: "external link",
        tooltip: "",
        url: "",
      },
    ],
    annotations: {
      list: [
        {
          builtIn: 1,
          datasource: { type: "grafana", uid: "-- Grafana --" },
          enable: true,
          hide: true,
          iconColor: "rgba(0, 211, 255, 1)",
          name: "Annotations & Alerts",
          type: "dashboard",
        },
      ],
    },
    templating: { list: variables },
    panels: layOut(rows, linksOf),
  };
}

const SOURCE = {
  name: "datasource",
  label: "Data source",
  type: "datasource",
  query: "prometheus",
  hide: 0,
  refresh: 1,
  regex: "",
  multi: false,
  includeAll: false,
  options: [],
  current: {},
};

function variable(name: string, label: string, query: string, several: boolean): unknown {
  return {
    name,
    label,
    type: "query",
    datasource: DATASOURCE,
    definition: query,
    query: { query, refId: "StandardVariableQuery" },
    hide: 0,
    refresh: 2,
    regex: "",
    sort: 1,
    multi: several,
    includeAll: several,
    ...(several && { allValue: ".*" }),
    options: [],
    current: several ? { text: ["All"], value: ["$__all"] } : {},
  };
}

const VARIABLES: readonly unknown[] = [
  SOURCE,
  variable("job", "Installation", "label_values(braid_build_info, job)", false),
  variable("instance", "Process", 'label_values(up{job="$job"}, instance)', true),
  variable("namespace", "Namespace", 'label_values(braid_read_mode{job="$job"}, namespace)', true),
];

const files = [
  ...DASHBOARDS.map((each) => ({ file: each.file, json: jsonOf(each, VARIABLES) })),
  {
    file: "runbooks",
    json: jsonOf(
      {
        file: "runbooks",
        title: "Braid: runbooks",
        description: "What each alert means and what to do; the text of docs/operate/alerts.md.",
        rows: runbookRows(runbooks),
      },
      [],
    ),
  },
];

for (const { file, json } of files) {
  const path = join(FOLDER, `${file}.json`);
  const text = await format(JSON.stringify(json), { parser: "json", printWidth: 100 });
  if (!process.argv.includes("--check")) writeFileSync(path, text);
  else if (readFileSync(path, "utf8") !== text) {
    console.error(
      `deploy/grafana/${file}.json is not what scripts/dashboards says; run: npm run generate`,
    );
    process.exitCode = 1;
  }
}
