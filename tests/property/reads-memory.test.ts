import { test } from "node:test";
import { MemoryStore } from "../support/memory-store.ts";
import { readsEqualTheModel } from "./reads.ts";

test("R19, R12: reads of any pages in both orders equal the model (memory)", async () => {
  await readsEqualTheModel(
    async () => Object.assign(new MemoryStore(), { dispose: async () => undefined }),
    300,
  );
});
