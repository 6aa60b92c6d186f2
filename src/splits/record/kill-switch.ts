/**
 * The switch that turns all splits off, everywhere within L: space `service`, key `kill-switch`.
 *
 * Each process asks for it every third of L. Who has not heard of it for L takes it as on: originals
 * are always right.
 */
import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { KillSwitchState } from "../../model/read-mode.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { decodeStored } from "../../records/stored-json.ts";
import type { Millis } from "../../lib/time-units.ts";

const SPACE = "service";
const KEY = "kill-switch";
const ATTEMPTS_MAX = 20;

const NEVER_TOUCHED: KillSwitchState = { on: false, at: 0, by: "", reason: "" };

export async function readKillSwitch(catalog: Catalog): Promise<KillSwitchState> {
  const stored = await catalog.read(SPACE, KEY);
  return stored === undefined ? NEVER_TOUCHED : decodeStored(switchSchema, SPACE, stored);
}

/** Whatever it was: the last one counts. */
export async function writeKillSwitch(catalog: Catalog, state: KillSwitchState): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    // Its version alone matters, so that one that cannot be read can still be written over.
    const before = await catalog.read(SPACE, KEY);
    const value = JSON.stringify(state);
    if ((await catalog.write(SPACE, KEY, value, before?.version ?? 0)) !== undefined) return;
  }
  throw new ServiceError("CONFLICT", "the kill switch is being set by others; try again", {
    retryAfterMs: 1_000,
  });
}

export interface KillSwitchOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** L. */
  readonly viewMaxAgeMs: Millis;
}

/** What one process knows of the switch. */
export class KillSwitch {
  readonly #options: KillSwitchOptions;
  #known: { readonly on: boolean; readonly askedAtMs: number } | undefined;

  constructor(options: KillSwitchOptions) {
    this.#options = options;
  }

  /** At no cost. Also true when nothing is known that is younger than L. */
  on(): boolean {
    return this.#known?.on === true || this.stale();
  }

  /** Whether nothing is known that is younger than L. */
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
      const { on } = await readKillSwitch(catalog);
      // An answer that was long under way says less than a later question's.
      if (askedAtMs >= (this.#known?.askedAtMs ?? -Infinity)) this.#known = { on, askedAtMs };
    } catch {
      // Whoever sets the switch is told of failures; here age alone counts.
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

const switchSchema: z.ZodType<KillSwitchState> = z.strictObject({
  on: z.boolean(),
  at: z.number().int(),
  by: z.string(),
  reason: z.string(),
});
