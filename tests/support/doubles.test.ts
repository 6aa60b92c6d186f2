import { catalogSuite } from "../conformance/catalog.ts";
import { eventStoreSuite } from "../conformance/event-store.ts";
import { MemoryCatalog } from "./memory-catalog.ts";
import { MemoryStore } from "./memory-store.ts";

catalogSuite("memory", async () => {
  const catalog = new MemoryCatalog();
  return { catalog, reopen: async () => catalog, dispose: async () => undefined };
});

eventStoreSuite("memory", async () => {
  const store = new MemoryStore();
  return { store, reopen: async () => store.reopen(), dispose: () => store.close() };
});
