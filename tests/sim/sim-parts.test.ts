/** The store and the catalog of the simulator keep what every engine promises. */
import { VirtualClock } from "../support/virtual-clock.ts";
import { catalogSuite } from "../conformance/catalog.ts";
import { eventStoreSuite } from "../conformance/event-store.ts";
import { Replicas } from "./replicas.ts";
import { SeededRandom } from "./seeded-random.ts";
import { SimCatalog } from "./sim-catalog.ts";
import { SimStore } from "./sim-store.ts";

catalogSuite("simulated", async () => {
  const catalog = new SimCatalog();
  return { catalog, reopen: async () => catalog, dispose: async () => undefined };
});

for (const count of [1, 3] as const) {
  eventStoreSuite(`simulated, ${count} replica(s)`, async () => {
    const store = new SimStore(new Replicas(count, new VirtualClock(0), new SeededRandom(1)));
    return { store, reopen: async () => store.reopen(), dispose: () => store.close() };
  });
}
