/**
 * Checks docs/operate/metrics.md against the code: it describes every metric with its type, labels
 * and label values, and every metric it describes exists. A real server and a real worker export
 * exactly these.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Metrics } from "../src/lib/metrics.ts";
import type { Declaration } from "../src/lib/metrics.ts";
import { loadConfig } from "../src/server/config.ts";
import {
  declareCassandraMetrics,
  declareEmbeddedMetrics,
  declareProcessMetrics,
} from "../src/server/process-metrics.ts";
import { declareServerMetrics } from "../src/server/server-metrics.ts";
import { declareWorkerMetrics } from "../src/server/worker-metrics.ts";
import { startMeasuredProcesses } from "./support/measured-processes.ts";
import type { MeasuredProcesses } from "./support/measured-processes.ts";

const DOCUMENT = "docs/operate/metrics.md";
/**
 * The metrics that prom-client exports of every Node process; the document describes them as a
 * group.
 */
const OF_NODE = /^(?:process|nodejs)_/;

const { config } = await loadConfig({ flags: {}, file: undefined, env: {}, cwd: "/nowhere" });

/** Which process has which metrics, in the words of the document. */
const DECLARED: Readonly<Record<string, readonly Declaration[]>> = {
  "every process": declaredBy((metrics) => declareProcessMetrics(metrics, config)),
  "every process on the embedded engine": declaredBy(declareEmbeddedMetrics),
  "every process on Cassandra": declaredBy(declareCassandraMetrics),
  servers: declaredBy(declareServerMetrics),
  "workers, and servers on the embedded queue": declaredBy(declareWorkerMetrics),
};

function declaredBy(declare: (metrics: Metrics) => unknown): readonly Declaration[] {
  const metrics = new Metrics();
  declare(metrics);
  return metrics.declared();
}

function namesOf(...who: string[]): string[] {
  const declared = who.flatMap((each) => DECLARED[each] ?? []);
  return declared.flatMap(({ name, formerly }) =>
    formerly === undefined ? [name] : [name, formerly],
  );
}

/** The line below a metric's name in the document. */
function lineOf(who: string, { type, labels, formerly }: Declaration): string {
  const shown = labels.map(({ name, values }) =>
    values === undefined
      ? `\`${name}\``
      : `\`${name}\` (${values.map((v) => `\`${v}\``).join(", ")})`,
  );
  const labelled = shown.length === 0 ? "" : ` Labels: ${shown.join(", ")}.`;
  const renamed = formerly === undefined ? "" : ` Formerly \`${formerly}\`.`;
  return `${type === "counter" ? "Counter" : type === "gauge" ? "Gauge" : "Histogram"} of ${who}.${labelled}${renamed}`;
}

/** By name: the line below it, and the text after that. Joins lines that the formatter broke. */
function describedIn(document: string): Map<string, { line: string; meaning: string }> {
  const described = new Map<string, { line: string; meaning: string }>();
  for (const section of document.split(/^### /m).slice(1)) {
    const [heading = "", line = "", ...meaning] = section.split(/\n\s*\n/);
    const name = /^`(\w+)`$/.exec(heading.trim())?.[1] ?? heading;
    equal(described.has(name), false, `${name} is described once`);
    const text = meaning.join(" ").split(/^## /m)[0] ?? "";
    described.set(name, { line: line.replaceAll(/\s+/g, " ").trim(), meaning: text.trim() });
  }
  return described;
}

let processes: MeasuredProcesses;

before(async () => {
  processes = await startMeasuredProcesses();
});

after(async () => {
  await processes[Symbol.asyncDispose]();
});

test("the document describes every metric with its type, labels and values, and no other", () => {
  const described = describedIn(readFileSync(DOCUMENT, "utf8"));
  const expected = Object.entries(DECLARED).flatMap(([who, declared]) =>
    declared.map((each) => [each.name, lineOf(who, each)] as const),
  );
  deepEqual(
    [...described].map(([name, { line }]) => `${name}: ${line}`).toSorted(),
    expected.map(([name, line]) => `${name}: ${line}`).toSorted(),
  );
  for (const [name, { meaning }] of described) ok(meaning.length > 20, `${name} has a meaning`);
});

test("a server and a worker show the metrics that are declared for them, and no other", async () => {
  const both = ["every process", "every process on the embedded engine"];
  const work = "workers, and servers on the embedded queue";
  const shown = (text: string): string[] =>
    [...text.matchAll(/^# TYPE (\S+)/gm)]
      .map(([, name = ""]) => name)
      .filter((name) => !OF_NODE.test(name))
      .toSorted();
  deepEqual(shown(await processes.server()), namesOf(...both, "servers", work).toSorted());
  deepEqual(shown(await processes.worker()), namesOf(...both, work).toSorted());
});

test("no label value has a space", async () => {
  for (const text of [await processes.server(), await processes.worker()]) {
    // Node names its own garbage collections and heap spaces.
    const ours = text.split("\n").filter((line) => line.startsWith("braid_"));
    deepEqual(
      ours.filter((line) => /="[^"]*\s[^"]*"/.test(line)),
      [],
    );
  }
});

test("counters that alerts watch exist at zero before anything has happened", async () => {
  const text = await processes.server();
  const of = 'namespace="quiet"';
  for (const series of [
    `braid_requests_total{method="ReadEventRecords",code="INTERNAL",${of}}`,
    `braid_refused_events_total{${of},code="EVENT_TOO_OLD"}`,
    `braid_refused_events_total{${of},code="STORAGE_UNAVAILABLE"}`,
    `braid_write_queue_dropped_events_total{${of},code="OUTCOME_UNKNOWN"}`,
    `braid_partial_returns_total{${of}}`,
    `braid_fallbacks_total{${of},reason="integrity"}`,
    `braid_comparisons_total{${of},result="differ"}`,
    `braid_compare_bytes_total{${of},result="differ"}`,
    `braid_detections_total{${of},outcome="dropped"}`,
    `braid_split_moves_total{${of},state="FAILED"}`,
    'braid_queue_dropped_total{reason="full"}',
    "braid_queue_dead_letters_total",
    "braid_kill_switch",
    `braid_read_mode{${of},mode="SERVE"}`,
  ]) {
    ok(text.includes(`\n${series} 0\n`), series);
  }
  ok(text.includes(`\nbraid_read_mode{${of},mode="SHADOW"} 1\n`));
  match(
    text,
    /\nbraid_build_info\{version="\d[^"]*",build="[^"]+",node="24\.[^"]+",engine="embedded",queue="embedded"\} 1\n/,
  );
});

test("documents name only metrics that exist", () => {
  const known = new Set(namesOf(...Object.keys(DECLARED)));
  const unknown = globSync(["*.md", "docs/**/*.md"]).flatMap((path) =>
    path === "CHANGELOG.md"
      ? []
      : [...readFileSync(path, "utf8").matchAll(/`(braid_[a-z_]+)[`{]/g)]
          .map(([, name = ""]) => name.replace(/_(?:bucket|sum|count)$/, ""))
          .filter((name) => !known.has(name))
          .map((name) => `${path}: ${name}`),
  );
  deepEqual(unknown, []);
});

test("metrics are declared in the files of the processes alone", () => {
  const files = globSync("src/**/*.ts").filter(
    (path) => !path.endsWith(".test.ts") && /"braid_\w+"/.test(readFileSync(path, "utf8")),
  );
  deepEqual(files.toSorted(), [
    "src/server/process-metrics.ts",
    "src/server/server-metrics.ts",
    "src/server/worker-metrics.ts",
  ]);
});
