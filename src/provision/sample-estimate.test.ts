import { deepEqual, equal, notDeepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { certain } from "./check-workload.ts";
import { estimateQuantile, fractionsOf } from "./sample-estimate.ts";

test("low, mid and high are honoured exactly, on both sides", () => {
  const estimate = { low: 1_000, mid: 10_000, high: 1_000_000, confidence: 0.9 };
  for (const [fraction, value] of [
    [0.05, 1_000],
    [0.5, 10_000],
    [0.95, 1_000_000],
  ] as const) {
    const drawn = estimateQuantile(estimate, fraction);
    ok(Math.abs(drawn / value - 1) < 1e-6, `${fraction}: ${drawn}`);
  }
  const growth = { low: -2, mid: 3, high: 4, confidence: 0.8 };
  ok(Math.abs(estimateQuantile(growth, 0.1) + 2) < 1e-6);
  ok(Math.abs(estimateQuantile(growth, 0.9) - 4) < 1e-6);
});

test("draws rise with the fraction, stay bounded, and one number is always itself", () => {
  const positive = fc.double({ min: 0.01, max: 1e9, noNaN: true });
  fc.assert(
    fc.property(
      fc.tuple(positive, positive, positive),
      fc.double({ min: 0.5, max: 0.99, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (values, confidence, a, b) => {
        const [low, mid, high] = values.toSorted((x, y) => x - y) as [number, number, number];
        const estimate = { low, mid, high, confidence };
        const [first, second] = [Math.min(a, b), Math.max(a, b)];
        const drawn = estimateQuantile(estimate, first);
        ok(drawn <= estimateQuantile(estimate, second) * (1 + 1e-9));
        ok(drawn >= mid * (low / mid) ** 3 * 0.999 && drawn <= mid * (high / mid) ** 3 * 1.001);
        equal(estimateQuantile(certain(mid), a), mid);
      },
    ),
  );
});

test("the fractions of an input cover its whole range, and follow from seed and name", () => {
  const fractions = fractionsOf("ids", 7, 64);
  const parts = Array.from(fractions, (fraction) => Math.floor(fraction * 64));
  deepEqual(
    parts.toSorted((a, b) => a - b),
    Array.from({ length: 64 }, (_, n) => n),
  );
  deepEqual(fractionsOf("ids", 7, 64), fractions);
  notDeepEqual(fractionsOf("ids", 8, 64), fractions);
  notDeepEqual(fractionsOf("eventBytes", 7, 64), fractions);
});
