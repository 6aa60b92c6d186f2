import { deepEqual } from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { test } from "node:test";
import { WriteBuffers } from "./write-buffers.ts";

function storeThat(flushes: string[], name: string): { flush(): Promise<void> } {
  return { flush: async () => void flushes.push(name) };
}

test("above the budget the stores with the fullest buffers are flushed, and no others", async () => {
  const flushes: string[] = [];
  const [small, large, largest] = ["small", "large", "largest"].map((name) =>
    storeThat(flushes, name),
  );
  const buffers = new WriteBuffers(100);
  if (small && large && largest) {
    buffers.committed(small, 10, 80);
    buffers.committed(large, 40, 80);
    buffers.committed(largest, 50, 80);
    await nextTurn();
    deepEqual(flushes, []);
    buffers.committed(small, 5, 80);
    await nextTurn();
    deepEqual(flushes, ["largest"]);
    // A buffer that is full is one that LevelDB has flushed itself.
    buffers.committed(large, 45, 80);
    buffers.committed(largest, 30, 80);
    await nextTurn();
    deepEqual(flushes, ["largest"]);
  }
});
