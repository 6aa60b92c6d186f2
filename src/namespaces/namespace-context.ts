/** The dependencies of every use case on namespaces. */
import type { Clock } from "../lib/clock.ts";
import type { Random } from "../lib/random.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import type { BelievedTime } from "./believed-time.ts";
import type { Changing } from "./change-slices.ts";

/** The slice reconciler shares `ownership`. */
export interface NamespaceContext extends Changing {
  readonly clock: Clock;
  readonly random: Random;
  readonly margins: TimeMargins;
  readonly time: BelievedTime;
  /** Brings this process's view up to date (`NamespaceViews.refresh`). */
  readonly changed: (name: string) => Promise<void>;
}
