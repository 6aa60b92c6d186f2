import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../lib/clock.ts";
import { silentLog } from "../../lib/log.ts";
import { SeededRandom } from "../../lib/seeded-random.ts";
import { TraceReceiver } from "../../../tests/support/trace-receiver.ts";
import { SpanExporter } from "./span-exporter.ts";
import type { EndedSpan } from "./span-recorder.ts";
import type { TracingSettings } from "./tracing-settings.ts";

function span(name: string): EndedSpan {
  return {
    traceId: "a".repeat(32),
    spanId: "b".repeat(16),
    parentId: "",
    state: "",
    name,
    kind: "SERVER",
    startMicros: 1_700_000_000_000_001,
    endMicros: 1_700_000_000_000_002,
    values: new Map<string, string | number | boolean>([
      ["whole", 3],
      ["part", 0.5],
      ["yes", true],
      ["text", "x"],
    ]),
    error: "failed",
  };
}

function newExporter(url: string, change: Partial<TracingSettings> = {}): SpanExporter {
  const settings = {
    url,
    headers: {},
    gzip: false,
    timeoutMs: 5_000,
    delayMs: 1,
    queueMax: 3,
    batchMax: 2,
    resource: { "service.name": "test" },
    ...change,
  };
  // The first wait after a failure is half a second at most with this seed.
  return new SpanExporter({
    clock: systemClock,
    random: new SeededRandom(1),
    log: silentLog,
    settings,
  });
}

test("spans are sent in the form of OTLP, times as whole nanoseconds", async () => {
  await using receiver = await TraceReceiver.start();
  const exporter = newExporter(receiver.url);
  exporter.add(span("one"));
  // A stopped exporter sends what it has.
  await exporter.run(AbortSignal.abort());
  deepEqual(receiver.spans, [
    {
      traceId: "a".repeat(32),
      spanId: "b".repeat(16),
      name: "one",
      kind: 2,
      startTimeUnixNano: "1700000000000001000",
      endTimeUnixNano: "1700000000000002000",
      attributes: [
        { key: "whole", value: { intValue: "3" } },
        { key: "part", value: { doubleValue: 0.5 } },
        { key: "yes", value: { boolValue: true } },
        { key: "text", value: { stringValue: "x" } },
      ],
      status: { code: 2, message: "failed" },
    },
  ]);
  deepEqual(exporter.counts, { sent: 1, dropped: 0, failed: 0 });
});

test("a full queue drops the newest span", async () => {
  await using receiver = await TraceReceiver.start();
  const exporter = newExporter(receiver.url);
  for (const name of ["1", "2", "3", "4"]) exporter.add(span(name));
  await exporter.run(AbortSignal.abort());
  deepEqual(
    receiver.spans.map(({ name }) => name),
    ["1", "2", "3"],
  );
  equal(receiver.requests.length, 2);
  deepEqual(exporter.counts, { sent: 3, dropped: 1, failed: 0 });
});

test("an overloaded receiver is asked again; one that refuses is not", async () => {
  await using receiver = await TraceReceiver.start();
  receiver.statuses.push(503, 200, 400);
  const exporter = newExporter(receiver.url, { batchMax: 1 });
  const ending = new AbortController();
  const running = exporter.run(ending.signal);
  exporter.add(span("again"));
  exporter.add(span("refused"));
  while (receiver.requests.length < 3) await systemClock.sleep(5);
  ending.abort();
  await running;
  deepEqual(
    receiver.spans.map(({ name }) => name),
    ["again"],
  );
  deepEqual(exporter.counts, { sent: 1, dropped: 0, failed: 1 });
});

test("a receiver that is away does not hold up the stop", async () => {
  const receiver = await TraceReceiver.start();
  const { url } = receiver;
  await receiver[Symbol.asyncDispose]();
  const exporter = newExporter(url);
  exporter.add(span("lost"));
  await exporter.run(AbortSignal.abort());
  deepEqual(exporter.counts, { sent: 0, dropped: 0, failed: 1 });
});
