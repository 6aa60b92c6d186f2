import { deepEqual, doesNotMatch, equal, match, throws } from "node:assert/strict";
import { test } from "node:test";
import { label, Metrics, NAMESPACE, openLabel } from "./metrics.ts";

const RESULT = label("result", ["hit", "miss"]);

async function seriesOf(metrics: Metrics, name: string): Promise<string[]> {
  return (await metrics.text()).split("\n").filter((line) => line.startsWith(name));
}

test("a namespace's counters exist at zero for all label values as soon as the namespace is known", async () => {
  const metrics = new Metrics();
  metrics.counter("early_total", "Help.", [NAMESPACE, RESULT]);
  metrics.addNamespace("plays");
  metrics.counter("late_total", "Help.", [NAMESPACE, RESULT]);
  for (const name of ["early_total", "late_total"]) {
    deepEqual(await seriesOf(metrics, name), [
      `${name}{namespace="plays",result="hit"} 0`,
      `${name}{namespace="plays",result="miss"} 0`,
    ]);
  }
});

test("a counter without a namespace exists at zero from the start", async () => {
  const metrics = new Metrics();
  metrics.counter("a_total", "Help.", [RESULT]);
  metrics.counter("b_total", "Help.", []);
  deepEqual(await seriesOf(metrics, "a_total"), [
    'a_total{result="hit"} 0',
    'a_total{result="miss"} 0',
  ]);
  deepEqual(await seriesOf(metrics, "b_total"), ["b_total 0"]);
});

test("a counter with open labels exists at zero for the values that its declaration names", async () => {
  const metrics = new Metrics();
  metrics.counter("a_total", "Help.", [openLabel("code"), NAMESPACE], {
    zeroAt: { code: ["BAD"] },
  });
  metrics.addNamespace("plays");
  deepEqual(await seriesOf(metrics, "a_total"), ['a_total{code="BAD",namespace="plays"} 0']);
});

test("the first count in a namespace makes all its counters exist", async () => {
  const metrics = new Metrics();
  const a = metrics.counter("a_total", "Help.", [NAMESPACE]);
  metrics.counter("b_total", "Help.", [NAMESPACE]);
  a.add(2, "plays");
  deepEqual(await seriesOf(metrics, "a_total"), ['a_total{namespace="plays"} 2']);
  deepEqual(await seriesOf(metrics, "b_total"), ['b_total{namespace="plays"} 0']);
});

test("removing a namespace removes its series and no others", async () => {
  const metrics = new Metrics();
  const counter = metrics.counter("a_total", "Help.", [NAMESPACE, RESULT]);
  const histogram = metrics.histogram("a_seconds", "Help.", [NAMESPACE]);
  for (const name of ["gone", "kept"]) {
    counter.add(1, name, "hit");
    histogram.observe(1, name);
  }
  metrics.removeNamespace("gone");
  const text = await metrics.text();
  doesNotMatch(text, /gone/);
  match(text, /a_total\{namespace="kept",result="hit"\} 1/);
  match(text, /a_seconds_count\{namespace="kept"\} 1/);
  counter.add(1, "gone", "hit");
  match(await metrics.text(), /a_total\{namespace="gone",result="hit"\} 1/);
});

test("O8: beyond the first 200 namespaces the others share one series", async () => {
  const metrics = new Metrics();
  const counter = metrics.counter("a_total", "Help.", [NAMESPACE, RESULT]);
  const gauges = metrics.gauges("a", "Help.", [NAMESPACE]);
  const names = Array.from({ length: 203 }, (_, i) => `n${i}`);
  for (const name of names) counter.add(1, name, "hit");
  gauges.from(() => names.map((name) => ({ value: 1, labels: [name] })));
  equal((await seriesOf(metrics, "a_total")).length, 2 * 200 + 1);
  const text = await metrics.text();
  match(text, /a_total\{namespace="_other",result="hit"\} 3\n/);
  match(text, /a\{namespace="n199"\} 1\n/);
  match(text, /a\{namespace="_other"\} 3\n/);
});

test("O8: no metric exceeds its bound of series, whatever its labels are", async () => {
  const metrics = new Metrics();
  const counter = metrics.counter("a_total", "Help.", [openLabel("code")]);
  for (let i = 0; i < 10_002; i++) counter.add(1, `code${i}`);
  const series = await seriesOf(metrics, "a_total");
  equal(series.length, 10_001);
  equal(series.at(-1), 'a_total{code="_other"} 2');
});

test("a metric with a former name shows the same value under both names", async () => {
  const metrics = new Metrics();
  const counter = metrics.counter("new_total", "Help.", [NAMESPACE], { formerly: "old_total" });
  const histogram = metrics.histogram("new_seconds", "Help.", [], {
    buckets: [1],
    formerly: "old_seconds",
  });
  const gauge = metrics.gauge("new_bytes", "Help.", "old_bytes");
  counter.add(3, "plays");
  histogram.observe(0.5);
  gauge.from(() => 7);
  const text = await metrics.text();
  for (const age of ["new", "old"]) {
    match(
      text,
      new RegExp(`\n# TYPE ${age}_total counter\n${age}_total\\{namespace="plays"\\} 3\n`, "m"),
    );
    match(text, new RegExp(`\n${age}_seconds_bucket\\{le="1"\\} 1\n`));
    match(text, new RegExp(`\n${age}_bytes 7\n`));
  }
  match(text, /# HELP old_total Former name of new_total; the next version drops it\.\n/);
});

test("a label value with a space is refused where it is declared", () => {
  throws(() => label("reason", ["too large"]), /has no space/);
});

test("totals of another process are counters that show what their source says at each scrape", async () => {
  const metrics = new Metrics();
  const totals = metrics.totals("a_total", "Help.", [openLabel("node")]);
  deepEqual(await seriesOf(metrics, "a_total"), []);
  totals.from(() => [{ value: 5, labels: ["n1"] }]);
  deepEqual(await seriesOf(metrics, "a_total"), ['a_total{node="n1"} 5']);
  totals.from(() => [{ value: 2, labels: ["n2"] }]);
  deepEqual(await seriesOf(metrics, "a_total"), ['a_total{node="n2"} 2']);
  match(await metrics.text(), /# TYPE a_total counter/);
});
