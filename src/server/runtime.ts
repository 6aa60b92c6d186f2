/** What a process takes from outside; the simulator passes its own. */
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Random } from "../lib/random.ts";

export interface Runtime {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}
