/**
 * The time that slices, floors and retention use (rule C25): a process's belief in its wall clock,
 * and the believed time that the catalog keeps for the next process.
 *
 * The process that owns the slice reconciler stores believed time and decides when a doubt ends.
 * Other processes follow the stored time; they may also end a doubt that an operator or a second
 * opinion settles. Before the first `refresh` the wall clock counts as in doubt: no irreversible
 * action depends on it.
 */
import type { Clock } from "../lib/clock.ts";
import type { Micros, Millis } from "../lib/time-units.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import type { Catalog } from "../ports/catalog.ts";
import { readBelievedTime, writeBelievedTime } from "../records/believed-time.ts";
import type { BelievedLeap } from "../records/believed-time.ts";
import { ClockBelief, START_LEAP_MICROS_MAX } from "./clock-belief.ts";
import type { ClockDoubt } from "./clock-belief.ts";

/**
 * The current time from a source other than this machine's clock. Undefined: the source cannot say.
 */
export type SecondOpinion = (signal?: AbortSignal) => Promise<Micros | undefined>;

export interface BelievedTimeOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly margins: TimeMargins;
  /** One opinion that agrees with the wall clock settles a large leap. */
  readonly opinions?: readonly SecondOpinion[];
  /** How long the wall clock must run evenly before a doubt ends. */
  readonly evenMs?: Millis;
  readonly observe?: (event: ClockEvent) => void;
}

export type ClockEvent =
  | { readonly kind: "doubt began"; readonly leapMicros: Micros; readonly message: string }
  | { readonly kind: "doubt ended"; readonly why: DoubtEnd };

export type DoubtEnd = "corrected" | "ran evenly" | "second opinion" | "confirmed";

/** What `GetStatus`, `/readyz` and the metrics show. */
export interface ClockStatus {
  readonly wallMicros: Micros;
  readonly believedMicros: Micros;
  readonly doubt: ClockDoubt | undefined;
}

const EVEN_MS = 600_000;
/** A machine that restarts every night leaps once a day; graces are much shorter than this. */
const LEAPS_MAX = 64;
const STORE_EVERY_MS = 60_000;
/** A process that does not own the reconciler reads the stored time this often. */
const READ_EVERY_MS = 60_000;
/** A time that another process stored since the last reading is at most this old. */
const STORED_AGO_MICROS_MAX = 2 * READ_EVERY_MS * 1_000;
/** An opinion agrees if it is this close to the wall clock. */
const AGREES_MICROS_MAX = START_LEAP_MICROS_MAX;

export class BelievedTime {
  readonly #options: BelievedTimeOptions;
  readonly #belief: ClockBelief;
  readonly #opinions: SecondOpinion[];
  /** Version of the stored record that this process last read or wrote. Undefined: not read yet. */
  #version: number | undefined;
  #leaps: readonly BelievedLeap[] = [];
  #storedAtMs = -Infinity;
  #readAtMs = -Infinity;
  #reportedDoubt = false;
  /** The last reading found a time that another process had stored. */
  #storedByOther = false;

  constructor(options: BelievedTimeOptions) {
    this.#options = options;
    this.#opinions = [...(options.opinions ?? [])];
    const { clock, margins, evenMs = EVEN_MS } = options;
    this.#belief = new ClockBelief({
      clock,
      skewMicros: margins.clockSkew.micros,
      evenMs,
      believeMaxMicros: margins.believeMax.micros,
      evenMaxMs: Math.max(evenMs, margins.dropGrace.ms),
    });
  }

  /** Adds the opinion of a component that starts later. */
  addOpinion(opinion: SecondOpinion): void {
    this.#opinions.push(opinion);
  }

  /** The time to act on. Rises evenly; behind the wall clock while that is in doubt. */
  nowMicros(): Micros {
    this.#belief.update();
    return this.#belief.nowMicros;
  }

  /**
   * How much of a grace that began at `since` is over: believed time without the leaps that nobody
   * confirmed. A clock that is a day ahead must not end every grace at once (rule C26).
   */
  graceElapsed(since: Micros): Micros {
    return elapsedSince(since, this.nowMicros(), this.#leaps);
  }

  /** Leaps that no grace counts. */
  get leaps(): readonly BelievedLeap[] {
    return this.#leaps;
  }

  /** While true, no irreversible action may depend on the clock. */
  get inDoubt(): boolean {
    this.#belief.update();
    return this.#version === undefined || this.#belief.doubt() !== undefined;
  }

  status(): ClockStatus {
    this.#belief.update();
    const { wallMicros, believedMicros } = this.#belief;
    return { wallMicros, believedMicros, doubt: this.#belief.doubt() };
  }

  /**
   * Reads the clocks, follows or stores believed time, and ends a doubt that has been settled.
   * Called every few seconds. Rejects if the catalog fails; the belief is then unchanged.
   */
  async refresh(owner: "owner" | "other", signal?: AbortSignal): Promise<void> {
    const doubted = this.#version !== undefined && this.#belief.doubt() !== undefined;
    this.#belief.update();
    await this.#follow(owner);
    let why: DoubtEnd = "corrected";
    if (this.#belief.doubt() !== undefined) {
      const ended = await this.#tryEnd(owner, signal);
      if (ended !== undefined) {
        why = ended;
        await this.#store();
      }
    } else if (doubted && this.#storedByOther) why = "confirmed";
    this.#storedByOther = false;
    this.#report(why);
    const { clock } = this.#options;
    if (owner === "owner" && clock.monotonicMs() - this.#storedAtMs >= STORE_EVERY_MS) {
      await this.#store();
    }
  }

  /** An operator confirms that this process's wall clock is right. Returns the resulting belief. */
  async confirm(): Promise<ClockStatus> {
    const { catalog } = this.#options;
    const stored = await readBelievedTime(catalog);
    this.#version = stored?.version ?? 0;
    this.#leaps = stored?.leaps ?? this.#leaps;
    this.#belief.believeWall();
    // If another process stores a time concurrently, it finds this one, or this one is repeated.
    if (!(await this.#store())) {
      this.#version = (await readBelievedTime(catalog))?.version ?? 0;
      this.#belief.believeWall();
      await this.#store();
    }
    this.#report("confirmed");
    return this.status();
  }

  /** Reads the stored time: at the start, in doubt, and periodically if another process owns it. */
  async #follow(owner: "owner" | "other"): Promise<void> {
    const { catalog, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const first = this.#version === undefined;
    const inDoubt = this.#belief.doubt() !== undefined;
    const due = owner === "other" && nowMs - this.#readAtMs >= READ_EVERY_MS;
    if (!first && !inDoubt && !due) return;
    const stored = await readBelievedTime(catalog);
    this.#readAtMs = nowMs;
    this.#leaps = stored?.leaps ?? this.#leaps;
    if (stored !== undefined && stored.version !== this.#version) {
      if (first) this.#belief.start(stored.micros);
      else {
        this.#belief.adopt(stored.micros, STORED_AGO_MICROS_MAX);
        this.#storedByOther = true;
      }
    }
    this.#version = stored?.version ?? 0;
  }

  async #tryEnd(owner: "owner" | "other", signal?: AbortSignal): Promise<DoubtEnd | undefined> {
    const leapMicros = this.#belief.doubt()?.leapMicros ?? 0;
    if (owner === "owner" && this.#belief.endDoubt({ opinionAgrees: false })) {
      this.#noteLeap(leapMicros);
      return "ran evenly";
    }
    if (this.#belief.doubt()?.needsOpinion !== true) return undefined;
    for (const opinion of this.#opinions) {
      const micros = await opinion(signal);
      this.#belief.update();
      const agrees =
        micros !== undefined && Math.abs(micros - this.#belief.wallMicros) <= AGREES_MICROS_MAX;
      if (agrees && this.#belief.endDoubt({ opinionAgrees: true })) return "second opinion";
    }
    return undefined;
  }

  /**
   * False if another process has stored a time since the last read; the next `refresh` follows it.
   */
  async #store(): Promise<boolean> {
    const { catalog, clock } = this.#options;
    const micros = this.#belief.believedMicros;
    const version = this.#version ?? 0;
    const written = await writeBelievedTime(catalog, { micros, leaps: this.#leaps, version });
    if (written !== undefined) {
      this.#version = written;
      this.#storedAtMs = clock.monotonicMs();
      return true;
    }
    const stored = await readBelievedTime(catalog);
    if (stored !== undefined) this.#belief.adopt(stored.micros, STORED_AGO_MICROS_MAX);
    this.#version = stored?.version ?? 0;
    this.#leaps = stored?.leaps ?? this.#leaps;
    return false;
  }

  #noteLeap(micros: Micros): void {
    if (micros <= 0) return;
    const leap = { at: Math.floor(this.#belief.believedMicros), micros: Math.ceil(micros) };
    this.#leaps = [...this.#leaps, leap].slice(-LEAPS_MAX);
  }

  #report(why: DoubtEnd): void {
    const { observe } = this.#options;
    const doubt = this.#belief.doubt();
    if ((doubt !== undefined) === this.#reportedDoubt) return;
    this.#reportedDoubt = doubt !== undefined;
    if (doubt === undefined) observe?.({ kind: "doubt ended", why });
    else {
      const { leapMicros } = doubt;
      observe?.({ kind: "doubt began", leapMicros, message: doubtMessage(leapMicros) });
    }
  }
}

/**
 * A clock whose wall time is believed time. For what is to happen at a time of the record: a machine
 * whose clock is a day ahead must not put off the next look at a split by a day.
 */
export function believedClock(clock: Clock, time: Pick<BelievedTime, "nowMicros">): Clock {
  return {
    nowMicros: () => time.nowMicros(),
    monotonicMs: () => clock.monotonicMs(),
    after: (ms, run) => clock.after(ms, run),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
}

/** Time that has passed since then, without what unconfirmed leaps jumped over. */
export function elapsedSince(
  since: Micros,
  believedMicros: Micros,
  leaps: readonly BelievedLeap[],
): Micros {
  let elapsed = believedMicros - since;
  for (const { at, micros } of leaps) if (at > since) elapsed -= micros;
  return elapsed;
}

/** The message for an operator while the clock is in doubt. */
export function doubtMessage(leapMicros: Micros): string {
  const seconds = Math.round(Math.abs(leapMicros) / 1_000_000).toLocaleString("en-US");
  const side = leapMicros > 0 ? "ahead of" : "behind";
  return (
    `this machine's clock is ${seconds} s ${side} the time that Braid saw pass; until it is corrected or ` +
    'believed, no slice is closed or dropped; if it is right, run "braid clock confirm"'
  );
}
