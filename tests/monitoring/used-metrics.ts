/**
 * What a PromQL expression of a dashboard or an alert uses: metrics, the labels it filters by, and
 * the labels it groups by. Not a parser: Prometheus itself parses every expression, this only finds
 * names.
 */
import { DECLARED } from "../../scripts/dashboards/promql.ts";
import { ControlService } from "../../src/gen/braid/v1/control_service_pb.js";
import { TimeSeriesService } from "../../src/gen/braid/v1/time_series_service_pb.js";
import { CODES } from "../../src/lib/errors.ts";
import type { EventCode } from "../../src/lib/errors.ts";
import { allOf } from "../../src/lib/metrics.ts";

export interface Selector {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
  /** The function around it, such as `rate`. */
  readonly under: string | undefined;
}

interface Matcher {
  readonly label: string;
  readonly operator: string;
  readonly value: string;
}

const EVENT_CODES = allOf<EventCode>({
  EVENT_TOO_OLD: 0,
  EVENT_TOO_NEW: 0,
  EVENT_TOO_LARGE: 0,
  EVENT_INVALID: 0,
  ID_BLOCKED: 0,
  OVERLOADED: 0,
  OUTCOME_UNKNOWN: 0,
});

/** Values of labels whose declarations do not list them. */
const OPEN_VALUES: Readonly<Record<string, readonly string[]>> = {
  code: ["OK", "CANCELLED", ...Object.keys(CODES), ...EVENT_CODES],
  method: [...TimeSeriesService.methods, ...ControlService.methods].map(({ name }) => name),
};

/** Labels that Prometheus gives every series, and a histogram its buckets. */
const GIVEN = ["job", "instance", "le"];

export function selectorsOf(expr: string): readonly Selector[] {
  const found = expr.matchAll(
    /(?:\b(\w+)\()?\s*\b((?:braid|nodejs|process)_\w+|up|ALERTS)\b(?:\{([^}]*)\})?/g,
  );
  return [...found].map(([, under, metric = "", inside = ""]) => ({
    metric,
    under,
    matchers: [...inside.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)].map(
      ([, label = "", operator = "", value = ""]) => ({ label, operator, value }),
    ),
  }));
}

/** Labels in `by (…)`, `on (…)` and `group_left|right (…)`. */
function groupedBy(expr: string): readonly string[] {
  const lists = expr.matchAll(/\b(?:by|on|group_left|group_right)\s*\(([^)]*)\)/g);
  return [...lists].flatMap(([, list = ""]) =>
    list
      .split(",")
      .map((label) => label.trim())
      .filter((label) => label !== ""),
  );
}

/** The name under which the metric is declared: without the suffix of a histogram's series. */
export function declaredName(metric: string): string {
  const bare = metric.replace(/_(?:bucket|sum|count)$/, "");
  return DECLARED.get(bare)?.type === "histogram" ? bare : metric;
}

/** What is wrong with the names in an expression; one line for each. */
export function problemsOf(expr: string): readonly string[] {
  const selectors = selectorsOf(expr);
  const problems: string[] = [];
  const labels = new Set(GIVEN);
  for (const { metric, matchers, under } of selectors) {
    const declaration = DECLARED.get(declaredName(metric));
    if (!metric.startsWith("braid_")) {
      for (const { label } of matchers) labels.add(label);
      continue;
    }
    if (declaration === undefined) {
      problems.push(`no metric ${metric}`);
      continue;
    }
    for (const label of declaration.labels) labels.add(label.name);
    const ofHistogram = declaration.type === "histogram";
    if (ofHistogram && declaredName(metric) === metric) {
      problems.push(`${metric} is a histogram: it has _bucket, _sum and _count`);
    }
    const counts = ofHistogram || declaration.type === "counter";
    if (["rate", "increase"].includes(under ?? "") && !counts) {
      problems.push(`${under}(${metric}): it is no counter`);
    }
    if (["deriv", "delta", "predict_linear"].includes(under ?? "") && counts) {
      problems.push(`${under}(${metric}): it is a counter`);
    }
    for (const { label, operator, value } of matchers) {
      const declared = declaration.labels.find(({ name }) => name === label);
      if (GIVEN.includes(label)) continue;
      if (declared === undefined) problems.push(`${metric} has no label ${label}`);
      const values = operator.includes("~") ? value.split("|") : [value];
      for (const each of values) {
        const known = declared?.values ?? OPEN_VALUES[label];
        if (known === undefined || /[$.*+]/.test(each)) continue;
        if (!known.includes(each)) problems.push(`${metric}: ${label} is never "${each}"`);
      }
    }
  }
  for (const label of groupedBy(expr)) {
    if (!labels.has(label)) problems.push(`nothing in it has the label ${label}: ${expr}`);
  }
  if (/histogram_quantile/.test(expr) && !groupedBy(expr).includes("le")) {
    problems.push(`histogram_quantile needs le: ${expr}`);
  }
  return problems;
}
