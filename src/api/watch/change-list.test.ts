import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../../lib/seeded-random.ts";
import { ChangeList } from "./change-list.ts";
import type { WatchedItem } from "./change-list.ts";

function item(key: string, value: string): WatchedItem<string> {
  return { key, value: `${key}=${value}`, bytes: Buffer.from(value) };
}

test("a new watcher gets all of it, and later only what has changed", () => {
  const list = new ChangeList<string>();
  equal(list.changesSince(undefined), undefined, "nothing is known yet");
  equal(list.update([item("a", "1"), item("b", "1")], false, 1), true);
  const first = list.changesSince(undefined);
  deepEqual(first, {
    revision: 1,
    snapshot: true,
    values: ["a=1", "b=1"],
    removed: [],
    truncated: false,
  });
  equal(list.changesSince(1), undefined);
  equal(list.update([item("a", "1"), item("b", "1")], false, 2), false);
  equal(list.update([item("a", "2"), item("c", "1")], true, 3), true);
  deepEqual(list.changesSince(1), {
    revision: 3,
    snapshot: false,
    values: ["a=2", "c=1"],
    removed: ["b"],
    truncated: true,
  });
});

test("an empty list is known too", () => {
  const list = new ChangeList<string>();
  equal(list.update([], false, 5), true);
  equal(list.changesSince(undefined)?.snapshot, true);
  equal(list.changesSince(5), undefined);
});

test("what cannot be told any more, or never was, is sent whole", () => {
  const list = new ChangeList<string>();
  const keys = Array.from({ length: 1_500 }, (_, nth) => `k${nth}`);
  list.update(
    keys.map((key) => item(key, "1")),
    false,
    10,
  );
  list.update([item("k0", "1")], false, 11);
  equal(list.changesSince(10)?.snapshot, true, "more was removed than is remembered");
  equal(list.changesSince(9)?.snapshot, true, "older than the list");
  equal(list.changesSince(99)?.snapshot, true, "newer than the list: of another process");
});

test("a watcher that applies what it gets knows what is there, however rarely it looks", () => {
  for (let seed = 1; seed <= 100; seed++) {
    const random = new SeededRandom(seed);
    const list = new ChangeList<string>();
    const held = new Map<string, string>();
    let seen: number | undefined;
    let revision = 0;
    const state = new Map<string, string>();
    for (let nth = 0; nth < 60; nth++) {
      for (let change = random.below(4); change > 0; change--) {
        const key = `k${random.below(8)}`;
        if (random.chance(0.3)) state.delete(key);
        else state.set(key, String(random.below(3)));
      }
      list.update(
        [...state].map(([key, value]) => item(key, value)),
        false,
        ++revision,
      );
      if (random.chance(0.6)) continue;
      const changes = list.changesSince(seen);
      if (changes?.snapshot === true) held.clear();
      for (const key of changes?.removed ?? []) held.delete(key);
      for (const value of changes?.values ?? []) {
        held.set(value.split("=")[0] ?? "", value.split("=")[1] ?? "");
      }
      seen = changes?.revision ?? seen;
      deepEqual(Object.fromEntries(held), Object.fromEntries(state), `seed ${seed}`);
    }
  }
});
