import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { Metrics } from "../lib/metrics.ts";
import { SeededRandom } from "../lib/seeded-random.ts";
import { SizeHistogram } from "../model/size-histogram.ts";
import { Level, Rate, Times } from "./figures.ts";
import { keepRequest, keepSeries } from "./history-series.ts";
import { MetricsHistory } from "./metrics-history.ts";
import { declareServerMetrics } from "./server-metrics.ts";

/** A whole minute. */
const START = 1_700_000_040_000_000;
const SECOND = 1_000_000;
const ALL = { resolution: "SECOND", namespace: "", series: [], since: 0 } as const;
const MINUTES = { ...ALL, resolution: "MINUTE" } as const;

/** The values of one series. */
function valuesOf(
  history: MetricsHistory,
  name: string,
  query = ALL as typeof ALL | typeof MINUTES,
) {
  return history.read(query).series.find((each) => each.name === name)?.values;
}

function close(actual: number | undefined, expected: number, what: string): void {
  if (Number.isNaN(expected)) ok(Number.isNaN(actual), `${what}: ${actual} is NaN`);
  else
    ok(
      Math.abs((actual ?? Number.NaN) - expected) <= 1e-6 * Math.abs(expected),
      `${what}: ${actual} is ${expected}`,
    );
}

test("a minute is made of all that happened in it, not of its seconds", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = new SeededRandom(seed);
    const history = new MetricsHistory();
    const rate = history.process.figure("rate", () => new Rate("1/s", 0));
    const times = history.process.figure("times", () => new Times());
    let level = 0;
    history.process.figure("mean", () => new Level("B", "mean", () => level));
    history.process.figure("max", () => new Level("B", "max", () => level));
    const minutes = new Map<
      number,
      { sum: number; seconds: number; times: SizeHistogram; levels: number[] }
    >();
    let at = START;
    for (let nth = 0; nth < 200; nth++) {
      // Sometimes the process sleeps for a while: the next sample is of all that time.
      const seconds = random.chance(0.05) ? 1 + random.below(100) : 1;
      at += seconds * SECOND;
      const minute = Math.floor((at / SECOND - 1) / 60);
      const seen = minutes.get(minute) ?? {
        sum: 0,
        seconds: 0,
        times: new SizeHistogram(),
        levels: [],
      };
      minutes.set(minute, seen);
      for (let count = random.below(5); count > 0; count--) {
        const micros = 1 + random.below(1_000_000);
        rate.add(micros);
        times.add(micros / 1_000_000);
        seen.sum += micros;
        seen.times.add(micros);
      }
      level = random.below(1_000);
      seen.levels.push(level);
      seen.seconds += seconds;
      // A timer is early or late by a little.
      history.sample(at + random.below(400_000) - 200_000, seconds);
    }
    const read = history.read(MINUTES);
    const first = (read.start ?? 0) / 60 / SECOND;
    equal(first, Math.min(...minutes.keys()), `seed ${seed}`);
    for (let i = 0; i < read.samples; i++) {
      const seen = minutes.get(first + i);
      const value = (name: string): number | undefined => valuesOf(history, name, MINUTES)?.[i];
      const what = `seed ${seed}, minute ${i}`;
      const none = seen === undefined || seen.times.count === 0;
      close(value("rate"), seen === undefined ? Number.NaN : seen.sum / seen.seconds, what);
      for (const [part, share] of [
        ["p50", 0.5],
        ["p95", 0.95],
        ["p99", 0.99],
        ["max", 1],
      ] as const) {
        const expected = none ? Number.NaN : seen.times.percentile(share) / SECOND;
        close(value(`times.${part}`), expected, `${what} ${part}`);
      }
      const { levels = [] } = seen ?? {};
      const sum = levels.reduce((total, each) => total + each, 0);
      close(value("mean"), seen === undefined ? Number.NaN : sum / levels.length, what);
      close(value("max"), seen === undefined ? Number.NaN : Math.max(...levels), what);
    }
  }
});

test("seconds without a sample are gaps, and the sample after them is of all that time", () => {
  const history = new MetricsHistory();
  const rate = history.process.figure("rate", () => new Rate("1/s", 0));
  rate.add(3);
  history.sample(START + SECOND, 1);
  rate.add(8);
  history.sample(START + 5 * SECOND, 4);
  const read = history.read(ALL);
  equal(read.start, START);
  deepEqual(read.series[0]?.values, [3, Number.NaN, Number.NaN, Number.NaN, 2]);
});

test("the minute in progress is shown as far as it has come", () => {
  const history = new MetricsHistory();
  const rate = history.process.figure("rate", () => new Rate("1/s", 0));
  rate.add(4);
  history.sample(START + SECOND, 1);
  deepEqual(valuesOf(history, "rate", MINUTES), [4]);
  history.sample(START + 2 * SECOND, 1);
  deepEqual(valuesOf(history, "rate", MINUTES), [2]);
});

test("a caller gets the series it names, and only what is new", () => {
  const history = new MetricsHistory();
  history.process.figure("reads", () => new Rate("1/s", 0));
  history.process.figure("read_latency", () => new Times());
  history.process.figure("read_latency.split", () => new Times());
  for (let nth = 1; nth <= 5; nth++) history.sample(START + nth * SECOND, 1);
  const names = (series: readonly string[]): string[] =>
    history.read({ ...ALL, series }).series.map(({ name }) => name);
  deepEqual(names(["reads", "read_latency.p99", "none"]), ["read_latency.p99", "reads"]);
  equal(names(["read_latency.split."]).length, 4);
  const { start, samples, series } = history.read({ ...ALL, since: START + 3 * SECOND });
  deepEqual([start, samples, series[0]?.values.length], [START + 3 * SECOND, 2, 2]);
  equal(history.read({ ...ALL, since: START + 100 * SECOND }).samples, 0);
});

test("a day of samples in a thousand namespaces stays within its bounds", () => {
  const history = new MetricsHistory();
  let at = START;
  for (let minute = 0; minute < 1_500; minute++) {
    for (let nth = 0; nth < 20; nth++) {
      const group = history.namespace(`ns_${(minute + nth * 37) % 1_000}`, 1);
      group?.figure("reads", () => new Rate("1/s", Number.NaN)).add(1);
    }
    at += 60 * SECOND;
    history.sample(at, 60);
  }
  const { samples, namespaces } = history.read(MINUTES);
  equal(samples, 1_440);
  equal(namespaces.length, 16);
});

test("a namespace that becomes busier than another takes its place", () => {
  const history = new MetricsHistory();
  for (let nth = 0; nth < 16; nth++) history.namespace(`ns_${nth}`, nth === 3 ? 0 : 100);
  equal(history.namespace("late", 50), undefined);
  for (let second = 1; second <= 61; second++) history.sample(START + second * SECOND, 1);
  ok(history.namespace("late", 50) !== undefined);
  equal(history.read(ALL).namespaces.includes("ns_3"), false);
});

test("the metrics of a server become series of the process and of its namespaces", () => {
  const history = new MetricsHistory();
  const measures = declareServerMetrics(new Metrics());
  const zero = (): number => 0;
  keepSeries(history, measures, {
    queueLag: () => 7,
    viewAgeSeconds: () => 1.5,
    loopDelaySeconds: zero,
    loopUse: zero,
    rssBytes: zero,
    heapBytes: zero,
    splitsIn: (state) => (state === "SPLITTING" ? 2 : 0),
  });
  measures.readSeconds.observe(0.01, "plays", "split");
  measures.readEvents.add(100, "plays");
  measures.written.add(40, "plays");
  measures.refused.add(2, "plays", "EVENT_TOO_OLD");
  measures.comparedBytes.add(1, "plays", "differ");
  measures.fallbacks.add(1, "plays", "integrity");
  measures.filterChecks.add(3, "plays", "hit");
  measures.detections.add(1, "plays", "emitted");
  keepRequest(history, "WriteEventRecordsSync", "OK", "plays", 4);
  keepRequest(history, "ReadEventRecords", "OVERLOADED", "", 1);
  keepRequest(history, "ReadEventRecords", "DEADLINE_EXCEEDED", "plays", 60_000);
  history.sample(START + SECOND, 1);
  const last = (namespace: string) =>
    new Map(
      history.read({ ...ALL, namespace }).series.map(({ name, values }) => [name, values.at(-1)]),
    );
  const all = last("");
  for (const [name, value] of [
    ["requests", 3],
    ["reads", 1],
    ["reads.split", 1],
    ["read_latency.p99", 0.01],
    ["read_latency.split.max", 0.01],
    ["read_events", 100],
    ["writes", 1],
    ["write_latency.max", 0.004],
    ["written_events", 40],
    ["refused_events", 2],
    ["refused_events.EVENT_TOO_OLD", 2],
    ["timeouts", 1],
    ["refusals", 2],
    ["refusals.OVERLOADED", 1],
    ["compare_bytes.differ", 1],
    ["compare_bytes.match", 0],
    ["fallbacks.integrity", 1],
    ["filter_checks.hit", 3],
    ["filter_false_positives", 0],
    ["detections.emitted", 1],
    ["queue_lag", 7],
    ["view_age", 1.5],
    ["splits.SPLITTING", 2],
  ] as const) {
    equal(all.get(name), value, name);
  }
  const own = last("plays");
  deepEqual(
    [own.get("reads"), own.get("written_events"), own.get("timeouts"), own.get("refusals")],
    [1, 40, 1, 1],
  );
  equal(own.get("queue_lag"), undefined);
  equal(last("shows").size, 0);
});
