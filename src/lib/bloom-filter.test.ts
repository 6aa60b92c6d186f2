import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { utf8 } from "./bytes.ts";
import { BloomFilter, FALSE_POSITIVE_RATE_MAX } from "./bloom-filter.ts";
import { hash32 } from "./hash.ts";

function halves(key: string): [number, number] {
  const bytes = utf8(key);
  return [hash32(bytes, 1), hash32(bytes, 2)];
}

for (const keys of [1, 50, 1_000, 30_000]) {
  test(`full to its capacity, it reports every key and at most 1 in 100 others (${keys})`, () => {
    const filter = new BloomFilter(keys);
    ok(filter.capacity >= keys);
    for (let n = 0; n < filter.capacity; n++) filter.add(...halves(`key ${n}`));
    for (let n = 0; n < filter.capacity; n++) ok(filter.has(...halves(`key ${n}`)));
    const others = 50_000;
    let mistaken = 0;
    for (let n = 0; n < others; n++) if (filter.has(...halves(`other ${n}`))) mistaken++;
    // The hash is fixed, so every run gives the same number.
    ok(mistaken <= others / 100, `${mistaken} of ${others}`);
    const expected = filter.falsePositiveRate;
    ok(expected <= FALSE_POSITIVE_RATE_MAX && expected > FALSE_POSITIVE_RATE_MAX / 2);
    ok(Math.abs(filter.count - filter.capacity) <= filter.capacity / 100);
  });
}

test("an empty filter holds no key", () => {
  const filter = new BloomFilter(100);
  for (let n = 0; n < 1_000; n++) ok(!filter.has(...halves(`key ${n}`)));
  equal(filter.count, 0);
  equal(filter.falsePositiveRate, 0);
});

test("a key added twice is counted once", () => {
  const filter = new BloomFilter(100);
  for (let n = 0; n < 5; n++) filter.add(...halves("key"));
  equal(filter.count, 1);
});

test("the smallest and largest halves are accepted", () => {
  const filter = new BloomFilter(1_000);
  const edges = [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];
  for (const low of edges) for (const high of edges) filter.add(low, high);
  for (const low of edges) for (const high of edges) ok(filter.has(low, high));
});
