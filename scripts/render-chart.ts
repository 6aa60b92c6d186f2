/**
 * Renders the Helm chart for the tests that read its manifests: `node scripts/render-chart.ts`, after
 * each change of deploy/helm/braid. It needs helm on the path.
 *
 * helm is not among what the tests require (it takes ten minutes to build), so its output is kept,
 * with a fingerprint of the chart that it was made from.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const CHART = "deploy/helm/braid";
const FOLDER = "tests/deploy/chart";

/** The kinds of installation that are rendered: each has a file of values in the folder. */
export const RENDERED = ["embedded", "cassandra"] as const;

export function renderedFile(name: (typeof RENDERED)[number]): string {
  return join(FOLDER, `${name}.rendered.yaml`);
}

/** The first line of a rendered file: it changes with every file of the chart and with the values. */
export function fingerprintLine(name: (typeof RENDERED)[number]): string {
  const files = globSync(`${CHART}/**`).filter((path) => statSync(path).isFile());
  const hash = createHash("sha256");
  for (const file of [...files.toSorted(), valuesFile(name)]) {
    hash.update(`${file}\0${readFileSync(file, "utf8")}\0`);
  }
  return `# Made by scripts/render-chart.ts from the chart ${hash.digest("hex").slice(0, 16)}.`;
}

export function renderChart(name: (typeof RENDERED)[number]): string {
  const values = ["--values", valuesFile(name)];
  execFileSync("helm", ["lint", "--strict", CHART, ...values], { stdio: "pipe" });
  const options = ["--namespace", "store", "--kube-version", "1.31.0", ...values];
  const manifests = execFileSync("helm", ["template", "braid", CHART, ...options], {
    encoding: "utf8",
  });
  return `${fingerprintLine(name)}\n${manifests}`;
}

function valuesFile(name: string): string {
  return join(FOLDER, `${name}.values.yaml`);
}

if (import.meta.main) {
  for (const name of RENDERED) writeFileSync(renderedFile(name), renderChart(name));
}
