/**
 * The switch that turns all splits off, everywhere within `viewMaxAge`: space `service`, key
 * `kill-switch`.
 *
 * Each process reads it every third of `viewMaxAge`. A process without an answer for `viewMaxAge`
 * treats it as on: originals are always right.
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
 * Sets the switch, and returns what is then stored. If it is already set so, it keeps the time,
 * operator and reason of the first request: a second request must not hide since when and why.
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

/** Undefined if the stored switch cannot be read, so that it can still be overwritten. */
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
  /** An answer older than `viewMaxAge` does not count. */
  readonly viewMaxAgeMs: Millis;
}

/** One process's copy of the switch. */
export class KillSwitch {
  readonly #options: KillSwitchOptions;
  #known: { readonly state: KillSwitchState; readonly askedAtMs: number } | undefined;

  constructor(options: KillSwitchOptions) {
    this.#options = options;
  }

  /** Free to call. Also true when the last answer is older than `viewMaxAge`. */
  on(): boolean {
    return this.#known?.state.on === true || this.stale();
  }

  /** The last answer, of any age; undefined before the first one. */
  lastKnown(): KillSwitchState | undefined {
    return this.#known?.state;
  }

  /** Whether there is no answer younger than `viewMaxAge`. */
  stale(): boolean {
    const known = this.#known;
    if (known === undefined) return true;
    return this.#options.clock.monotonicMs() - known.askedAtMs >= this.#options.viewMaxAgeMs;
  }

  /** Asks the catalog. Never rejects: after a failure, the last answer grows older. */
  async refresh(): Promise<void> {
    const { catalog, clock } = this.#options;
    const askedAtMs = clock.monotonicMs();
    try {
      const state = await readKillSwitch(catalog);
      // A slow answer must not replace the answer to a later question.
      if (askedAtMs >= (this.#known?.askedAtMs ?? -Infinity)) this.#known = { state, askedAtMs };
    } catch {
      // The operator who sets the switch sees failures; here only the age counts.
    }
  }

  /** Refreshes the copy until the signal aborts. Never rejects. */
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
