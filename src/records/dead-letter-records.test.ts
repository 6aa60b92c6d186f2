import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import {
  ACTIONS_KEPT,
  addDeadLetterAction,
  readDeadLetterRecord,
  SETTLED_RANGES_MAX,
} from "./dead-letter-records.ts";

const ACTION = { at: 1, by: "ana", action: "dropped", letters: 1, reason: "" } as const;

test("the number of actions and of ranges is bounded, and what is gone frees room", async () => {
  const catalog = new MemoryCatalog();
  const every = (count: number): number[] => Array.from({ length: count }, (_, nth) => 2 * nth + 1);
  const offsets = every(SETTLED_RANGES_MAX);
  await addDeadLetterAction(catalog, ACTION, [{ partition: 0, offsets, first: 0 }]);
  const more = { partition: 0, offsets: [5_000], first: 0 };
  await assert.rejects(addDeadLetterAction(catalog, ACTION, [more]), { code: "REQUEST_INVALID" });
  await addDeadLetterAction(catalog, ACTION, [{ ...more, first: 1_000 }]);
  for (let nth = 0; nth < ACTIONS_KEPT; nth++) {
    await addDeadLetterAction(catalog, { ...ACTION, at: 2 + nth }, []);
  }
  const { actions, settled } = await readDeadLetterRecord(catalog);
  assert.deepEqual([actions.length, actions[0]?.at], [ACTIONS_KEPT, 2]);
  assert.deepEqual(settled.get(0)?.[0], [0, 1_000]);
});
