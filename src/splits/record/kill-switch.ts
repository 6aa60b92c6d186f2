/**
 * The switch that turns all splits off, everywhere within view_max_age: space `service`, key
 * `kill-switch`.
 *
 * Each process reads it every third of view_max_age. A process that could not read it for
 * view_max_age takes it as on: originals are always right.
 */
import { ServiceError } from "../../lib/errors.ts";
import { compareAndSet, LOST } from "../../lib/compare-and-set.ts";
import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import type { KillSwitchState } from "../../model/read-mode.ts";
import type { Catalog, CatalogRecord } from "../../ports/catalog.ts";
import { decodeStored, encodeStored, storedObject } from "../../records/stored-json.ts";
import type { Millis } from "../../lib/time-units.ts";

const SPACE = "service";
const KEY = "kill-switch";

const NEVER_TOUCHED: KillSwitchState = { on: false, at: 0, by: "", reason: "" };

export async function readKillSwitch(catalog: Catalog): Promise<KillSwitchState> {
  const stored = await catalog.read(SPACE, KEY);
  return stored === undefined ? NEVER_TOUCHED : decodeStored(switchSchema, SPACE, stored);
}

/**
 * Sets it, and returns what is stored then. One that is so already stays as it is, with the time,
 * the operator and the reason of the first request: a second one must not hide since when and why.
 */
export async function writeKillSwitch(
  catalog: Catalog,
  state: KillSwitchState,
): Promise<{ readonly state: KillSwitchState; readonly unchanged: boolean }> {
  const message = "the kill switch is being set by others; try again";
  return compareAndSet({ message }, async () => {
    const stored = await catalog.read(SPACE, KEY);
    const before = stored === undefined ? NEVER_TOUCHED : readable(stored);
    if (before?.on === state.on) return { state: before, unchanged: true };
    const value = encodeStored(state);
    const written = await catalog.write(SPACE, KEY, value, stored?.version ?? 0);
    return written === undefined ? LOST : { state, unchanged: false };
  });
}

/** Undefined for one that cannot be read, so that it can still be written over. */
function readable(stored: CatalogRecord): KillSwitchState | undefined {
  try {
    return decodeStored(switchSchema, SPACE, stored);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "DATA_LOSS") return undefined;
    throw error;
  }
}

export interface KillSwitchOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** view_max_age. */
  readonly viewMaxAgeMs: Millis;
}

/** What one process knows of the switch. */
export class KillSwitch {
  readonly #options: KillSwitchOptions;
  #known: { readonly state: KillSwitchState; readonly askedAtMs: number } | undefined;

  constructor(options: KillSwitchOptions) {
    this.#options = options;
  }

  /** At no cost. Also true when nothing is known that is younger than view_max_age. */
  on(): boolean {
    return this.#known?.state.on === true || this.stale();
  }

  /** As last heard, however long ago; undefined before the first time. */
  lastKnown(): KillSwitchState | undefined {
    return this.#known?.state;
  }

  /** Whether nothing is known that is younger than view_max_age. */
  stale(): boolean {
    const known = this.#known;
    if (known === undefined) return true;
    return this.#options.clock.monotonicMs() - known.askedAtMs >= this.#options.viewMaxAgeMs;
  }

  /** Asks the catalog. Never rejects: if that fails, what is known grows old. */
  async refresh(): Promise<void> {
    const { catalog, clock } = this.#options;
    const askedAtMs = clock.monotonicMs();
    try {
      const state = await readKillSwitch(catalog);
      // An answer that was long under way says less than a later question's.
      if (askedAtMs >= (this.#known?.askedAtMs ?? -Infinity)) this.#known = { state, askedAtMs };
    } catch {
      // The operator who sets the switch sees failures; here age alone counts.
    }
  }

  /** Keeps it young until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, viewMaxAgeMs } = this.#options;
    while (!signal.aborted) {
      await this.refresh();
      await clock.sleep(viewMaxAgeMs / 3, signal);
    }
  }
}

const switchSchema: z.ZodType<KillSwitchState> = storedObject({
  on: z.boolean(),
  at: z.number().int(),
  by: z.string(),
  reason: z.string(),
});
