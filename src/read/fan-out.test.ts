import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FAN_OUT_FIRST, nextFanOut } from "./fan-out.ts";
import { FanOuts } from "./fan-outs.ts";

const max = fc.integer({ min: 1, max: 64 });
const result = fc.record({
  buckets: fc.nat(100),
  usedBytes: fc.nat(1 << 24),
  leftBytes: fc.nat(1 << 24),
});

test("a fan-out stays between one bucket and the most allowed, and one read changes it little", () => {
  fc.assert(
    fc.property(max, fc.integer({ min: 1, max: 64 }), result, (most, at, read) => {
      const before = Math.min(most, at);
      const after = nextFanOut(before, read, most);
      ok(after >= 1 && after <= most);
      ok(after <= before + 1, "it rises by one");
      ok(after >= Math.floor((before * 3) / 4) || after === 1, "it falls by a quarter");
    }),
  );
});

test("the more is thrown away the lower, the more buckets are read the higher", () => {
  fc.assert(
    fc.property(max, fc.integer({ min: 1, max: 64 }), result, fc.nat(), (most, at, read, more) => {
      const before = Math.min(most, at);
      const after = nextFanOut(before, read, most);
      const left = { ...read, leftBytes: read.leftBytes + more };
      ok(nextFanOut(before, left, most) <= after);
      ok(nextFanOut(before, { ...read, buckets: read.buckets + more }, most) >= after);
      ok(nextFanOut(before, { ...read, usedBytes: read.usedBytes + more }, most) >= after);
    }),
  );
});

test("whole reads bring a fan-out to the most, callers that leave bring it to one, from anywhere", () => {
  fc.assert(
    fc.property(max, fc.array(result, { maxLength: 30 }), (most, history) => {
      const fanOuts = new FanOuts(most);
      equal(fanOuts.of("plays-1"), Math.min(most, FAN_OUT_FIRST));
      for (const read of history) fanOuts.learn("plays-1", read);
      const whole = { buckets: 1_000, usedBytes: 1e6, leftBytes: 0 };
      for (let nth = 0; nth < most; nth++) fanOuts.learn("plays-1", whole);
      equal(fanOuts.of("plays-1"), most);
      const leaves = { buckets: 1, usedBytes: 0, leftBytes: 1e6 };
      for (let nth = 0; nth < 20; nth++) fanOuts.learn("plays-1", leaves);
      equal(fanOuts.of("plays-1"), 1);
      equal(fanOuts.of("plays-2"), Math.min(most, FAN_OUT_FIRST), "another one is not affected");
    }),
  );
});
