import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../../lib/seeded-random.ts";
import { ProvenCopies } from "./proven-copies.ts";

test("it agrees with a map of all copies through any additions and removals", () => {
  const random = new SeededRandom(7);
  const copies = new ProvenCopies(1_000_000, 3);
  const expected = new Map<string, Map<number, number>>();
  const pick = (n: number): number => Math.floor(random.fraction() * n);
  for (let step = 0; step < 40_000; step++) {
    const partition = `partition ${pick(3_000)}`;
    const from = 1_700_000_000_000_000 + 3_600_000_000 * pick(4);
    const generation = 1 + pick(3);
    if (pick(8) === 0) {
      copies.remove(partition);
      expected.delete(partition);
    } else {
      copies.add(partition, { generation, from });
      const known = expected.get(partition) ?? new Map<number, number>();
      expected.set(partition, known.set(from, generation));
    }
  }
  let count = 0;
  for (let n = 0; n < 3_000; n++) {
    const partition = `partition ${n}`;
    const known = expected.get(partition);
    count += known?.size ?? 0;
    for (let nth = 0; nth < 4; nth++) {
      const from = 1_700_000_000_000_000 + 3_600_000_000 * nth;
      for (const generation of [1, 2, 3]) {
        const has = copies.has(partition, { generation, from });
        equal(has, known?.get(from) === generation, `${partition} ${from} ${generation}`);
      }
    }
  }
  equal(copies.count, count);
});

test("at its bound it holds as many copies as it may, and no more memory", () => {
  const copies = new ProvenCopies(700);
  for (let n = 0; n < 700; n++) copies.add(`p${n}`, { generation: 1, from: 0 });
  const { bytes } = copies;
  let admitted = 0;
  for (let n = 700; n < 5_000; n++) {
    copies.add(`p${n}`, { generation: 1, from: 0 });
    if (copies.has(`p${n}`, { generation: 1, from: 0 })) admitted++;
  }
  ok(admitted > 0);
  equal(copies.count, 700);
  equal(copies.bytes, bytes);
});
