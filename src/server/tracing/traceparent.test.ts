import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { callersTrace } from "./traceparent.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

function traceOf(traceparent: string | undefined, tracestate?: string) {
  return callersTrace({ traceparent, tracestate });
}

test("a caller's trace is continued, with its decision and its state", () => {
  deepEqual(traceOf(`00-${TRACE}-${SPAN}-01`, "a=1"), {
    traceId: TRACE,
    spanId: SPAN,
    sampled: true,
    state: "a=1",
  });
  equal(traceOf(`00-${TRACE}-${SPAN}-00`)?.sampled, false);
  equal(traceOf(`00-${TRACE}-${SPAN}-03`)?.sampled, true);
});

test("a later version may have more fields; what the standard calls invalid counts as no trace", () => {
  equal(traceOf(`01-${TRACE}-${SPAN}-01-more`)?.traceId, TRACE);
  const invalid = [
    undefined,
    "",
    `00-${TRACE}-${SPAN}-01-more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01\n`,
    "x".repeat(100_000),
  ];
  deepEqual(
    invalid.map((each) => traceOf(each)),
    invalid.map(() => undefined),
  );
});

test("a state that is too long is not passed on", () => {
  equal(traceOf(`00-${TRACE}-${SPAN}-01`, `a=${"x".repeat(600)}`)?.state, "");
});
