/** Both ports of one engine, for code that changes events and their records together. */
import type { Catalog } from "./catalog.ts";
import type { EventStore } from "./event-store.ts";

export interface Storage {
  readonly catalog: Catalog;
  readonly store: EventStore;
}
