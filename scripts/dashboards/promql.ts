/**
 * PromQL for dashboards. A metric is named as the code declares it, and gets the filters of the
 * dashboard's variables for the labels that it has: a name or label that does not exist is an error
 * here, before Grafana shows an empty panel.
 */
import { Metrics } from "../../src/lib/metrics.ts";
import type { Declaration } from "../../src/lib/metrics.ts";
import { loadConfig } from "../../src/server/config.ts";
import {
  declareCassandraMetrics,
  declareEmbeddedMetrics,
  declareProcessMetrics,
} from "../../src/server/process-metrics.ts";
import { declareServerMetrics } from "../../src/server/server-metrics.ts";
import { declareWorkerMetrics } from "../../src/server/worker-metrics.ts";

/** Of the Node client library and of Prometheus itself. */
const FOREIGN = /^(?:up$|process_|nodejs_)/;

export const DECLARED: ReadonlyMap<string, Declaration> = await declared();

async function declared(): Promise<ReadonlyMap<string, Declaration>> {
  const sources = { flags: {}, file: undefined, env: {}, cwd: "/nowhere" };
  const { config } = await loadConfig(sources);
  const metrics = new Metrics();
  declareProcessMetrics(metrics, config);
  declareEmbeddedMetrics(metrics);
  declareCassandraMetrics(metrics);
  declareServerMetrics(metrics);
  declareWorkerMetrics(metrics);
  return new Map(metrics.declared().map((each) => [each.name, each]));
}

/** The metric's series of the chosen installation, servers and namespaces. */
export function series(name: string, ...matchers: readonly string[]): string {
  const declaration =
    DECLARED.get(name.replace(/_(?:bucket|sum|count)$/, "")) ?? DECLARED.get(name);
  if (declaration === undefined && !FOREIGN.test(name)) throw new Error(`no metric ${name}`);
  const named = declaration?.labels.some((label) => label.name === "namespace") === true;
  const filters = [
    'job="$job"',
    'instance=~"$instance"',
    ...(named ? ['namespace=~"$namespace"'] : []),
    ...matchers,
  ];
  return `${name}{${filters.join(",")}}`;
}

/** How fast a counter rises, added up over the servers. */
export function rateBy(labels: string, name: string, ...matchers: readonly string[]): string {
  return `sum by (${labels}) (rate(${series(name, ...matchers)}[$__rate_interval]))`;
}

/** How fast a counter rises that every process reports alike. */
export function maxRateBy(labels: string, name: string, ...matchers: readonly string[]): string {
  return `max by (${labels}) (rate(${series(name, ...matchers)}[$__rate_interval]))`;
}

/**
 * By how much a counter rose in the time that one point of the chart stands for, four scrapes at
 * least: in a short interval neighbours share some of it.
 */
export function riseBy(labels: string, name: string, ...matchers: readonly string[]): string {
  return `sum by (${labels}) (increase(${series(name, ...matchers)}[$__rate_interval]))`;
}

/** A quantile of a histogram over all chosen servers, by labels ("" for one line). */
export function quantileBy(
  q: number,
  labels: string,
  name: string,
  ...matchers: readonly string[]
): string {
  const by = labels === "" ? "le" : `${labels}, le`;
  return `histogram_quantile(${q}, sum by (${by}) (rate(${series(`${name}_bucket`, ...matchers)}[$__rate_interval])))`;
}

/** The buckets of a histogram, for a heat map. */
export function bucketsOf(name: string, ...matchers: readonly string[]): string {
  return `sum by (le) (increase(${series(`${name}_bucket`, ...matchers)}[$__rate_interval]))`;
}

/** The largest value of a gauge over the chosen servers. */
export function maxBy(labels: string, name: string, ...matchers: readonly string[]): string {
  return `max by (${labels}) (${series(name, ...matchers)})`;
}

/** A gauge added up over the chosen servers. */
export function sumBy(labels: string, name: string, ...matchers: readonly string[]): string {
  return `sum by (${labels}) (${series(name, ...matchers)})`;
}

/** A gauge as a share of the setting that limits it, for each process. */
export function shareOfLimit(name: string, setting: string): string {
  return `max by (instance) (${series(name)} / on (job, instance) ${series("braid_limit", `setting="${setting}"`)})`;
}
