/** Waits until no process acts on a view from before a change. */
import type { Clock } from "../lib/clock.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import type { Catalog } from "../ports/catalog.ts";

export interface ViewWait {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly margins: TimeMargins;
}

/** If the catalog is not shared, the only view is this process's own, and there is no wait. */
export async function waitForViews(
  { catalog, clock, margins }: ViewWait,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!catalog.shared) return;
  await clock.sleep(margins.viewMaxAge.ms, signal);
  signal?.throwIfAborted();
}
