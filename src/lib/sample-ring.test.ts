import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { SampleRing } from "./sample-ring.ts";
import { SeededRandom } from "./seeded-random.ts";

const { NaN: GAP } = Number;

function sampled(ring: SampleRing, column: ReturnType<SampleRing["add"]>, step: number): void {
  ring.begin(step);
  ring.set(column, step);
}

test("a ring keeps the newest samples, and a step that was left out is a gap", () => {
  const ring = new SampleRing(4);
  const column = ring.add(0);
  deepEqual(ring.range, { firstStep: 0, count: 0 });
  for (const step of [10, 11, 13, 14]) sampled(ring, column, step);
  deepEqual(ring.range, { firstStep: 11, count: 4 });
  deepEqual(ring.read(column, ring.range), [11, GAP, 13, 14]);
});

test("after a gap as long as the ring no earlier sample is left", () => {
  const ring = new SampleRing(4);
  const column = ring.add(0);
  sampled(ring, column, 10);
  sampled(ring, column, 100);
  deepEqual(ring.range, { firstStep: 100, count: 1 });
  deepEqual(ring.read(column, ring.range), [100]);
});

test("when the clock steps back, samples of the future are forgotten", () => {
  const ring = new SampleRing(4);
  const column = ring.add(0);
  for (const step of [10, 11, 12]) sampled(ring, column, step);
  sampled(ring, column, 11);
  deepEqual(ring.range, { firstStep: 10, count: 2 });
  sampled(ring, column, 3);
  deepEqual(ring.range, { firstStep: 3, count: 1 });
  deepEqual(ring.read(column, ring.range), [3]);
});

test("a series that begins later was what its maker says at samples, and unknown in gaps", () => {
  const ring = new SampleRing(4);
  const first = ring.add(0);
  for (const step of [10, 12]) sampled(ring, first, step);
  const later = ring.add(0);
  deepEqual(ring.read(later, ring.range), [0, GAP, 0]);
  deepEqual(ring.read(ring.add(GAP), ring.range), [GAP, GAP, GAP]);
});

test("values have seven digits", () => {
  const ring = new SampleRing(1);
  const column = ring.add(0);
  ring.begin(1);
  ring.set(column, 0.1);
  deepEqual(ring.read(column, ring.range), [0.1]);
  ring.set(column, 1_000_000_000);
  deepEqual(ring.read(column, ring.range), [1_000_000_000]);
});

test("a ring is what a list of all samples says it is, whatever the clock does", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = new SeededRandom(seed);
    const stepsMax = 1 + random.below(8);
    const ring = new SampleRing(stepsMax);
    const column = ring.add(0);
    let known = new Map<number, number>();
    let first = 0;
    let last = 0;
    let step = 1_000;
    for (let nth = 0; nth < 60; nth++) {
      step += random.chance(0.1) ? -random.below(12) : random.chance(0.2) ? random.below(12) : 1;
      const value = random.below(1_000);
      ring.begin(step);
      ring.set(column, value);
      const restarted = nth === 0 || step < first || step - last > stepsMax;
      first = restarted ? step : Math.max(first, step - stepsMax + 1);
      known = new Map([...known].filter(([each]) => each >= first && each < step)).set(step, value);
      last = step;
      const expected = Array.from(
        { length: step - first + 1 },
        (_, i) => known.get(first + i) ?? GAP,
      );
      deepEqual(ring.range, { firstStep: first, count: expected.length }, `seed ${seed}`);
      deepEqual(ring.read(column, ring.range), expected, `seed ${seed}`);
    }
  }
});
