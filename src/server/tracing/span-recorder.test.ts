import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../../lib/seeded-random.ts";
import { inSpan } from "../../lib/tracer.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { SpanRecorder } from "./span-recorder.ts";
import type { EndedSpan } from "./span-recorder.ts";

const START = 1_700_000_000_000_000;

function newRecorder() {
  const clock = new VirtualClock(START);
  const ended: EndedSpan[] = [];
  const recorder = new SpanRecorder({
    clock,
    random: new SeededRandom(1),
    sampled: (_, caller) => caller?.sampled ?? true,
    ended: (span) => ended.push(span),
  });
  return { clock, ended, recorder };
}

test("spans begun by the work of a span are its children, through everything that is awaited", async () => {
  const { clock, ended, recorder } = newRecorder();
  const root = recorder.root("request", "SERVER", { a: 1, b: undefined });
  await root?.run(async () => {
    await Promise.resolve();
    await inSpan(recorder, "outer", {}, async () => {
      await clock.advance(5);
      await inSpan(recorder, "inner", { text: "x".repeat(2_000) }, async () => undefined);
    });
  });
  root?.end();
  const [inner, outer, request] = ended;
  deepEqual([inner?.name, outer?.name, request?.name], ["inner", "outer", "request"]);
  equal(inner?.parentId, outer?.spanId);
  equal(outer?.parentId, request?.spanId);
  equal(request?.parentId, "");
  equal(new Set(ended.map(({ traceId }) => traceId)).size, 1);
  deepEqual([outer?.startMicros, outer?.endMicros], [START, START + 5_000]);
  deepEqual([...(request?.values ?? [])], [["a", 1]]);
  equal(String(inner?.values.get("text")).length, 1_001);
});

test("work without a trace, and work of a caller who is not sampled, records nothing", async () => {
  const { ended, recorder } = newRecorder();
  equal(recorder.child("alone", "INTERNAL", {}), undefined);
  const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-00`;
  const headers = { traceparent, tracestate: undefined };
  equal(recorder.root("request", "SERVER", {}, headers), undefined);
  equal(await inSpan(undefined, "no tracer", {}, async () => 7), 7);
  deepEqual(ended, []);
});

test("a failure of the work is the error of its span, and is thrown on", async () => {
  const { ended, recorder } = newRecorder();
  const root = recorder.root("request", "SERVER", {});
  const work = inSpan.bind(undefined, recorder, "step", {}, async () => {
    throw new Error("no disk");
  });
  equal(await root?.run(work).catch((error: unknown) => String(error)), "Error: no disk");
  equal(ended[0]?.error, "no disk");
});

test("a trace is bounded: it says how many spans were too many, and takes none after its end", async () => {
  const { ended, recorder } = newRecorder();
  const root = recorder.root("split", "INTERNAL", {});
  let late: unknown;
  await root?.run(async () => {
    for (let nth = 0; nth < 1_500; nth++) recorder.child("call", "CLIENT", {})?.end();
    root.end();
    late = recorder.child("late", "CLIENT", {});
  });
  equal(late, undefined);
  equal(ended.length, 1_000);
  equal(ended.at(-1)?.values.get("braid.spans_omitted"), 501);
});
