/**
 * How far one process believes its wall clock (rule C25). Pure state: no catalog.
 *
 * The wall clock can step; the monotonic clock cannot. So believed time rises with the monotonic
 * clock, and follows the wall clock only by a slack of 1/1000. A wall clock that is further away
 * than the clock skew is in doubt. A machine that slept and a clock that was set are
 * indistinguishable: doubt does not say which clock is right.
 */
import type { Clock } from "../lib/clock.ts";
import type { Micros, Millis } from "../lib/time-units.ts";

export interface ClockBeliefOptions {
  readonly clock: Clock;
  /** A larger step is doubt. */
  readonly skewMicros: Micros;
  /** Doubt can end when the wall clock has run evenly for this long. */
  readonly evenMs: Millis;
  /** A larger leap needs a second opinion. */
  readonly believeMaxMicros: Micros;
  /** After running evenly for this long, the wall clock is believed whatever the leap. */
  readonly evenMaxMs: Millis;
}

export interface ClockDoubt {
  /** By how much the wall clock is ahead of believed time; negative: behind. */
  readonly leapMicros: Micros;
  /** How long this process has doubted. */
  readonly sinceMs: Millis;
  /** How long the wall clock has run evenly with the monotonic clock. */
  readonly evenForMs: Millis;
  /** The wall clock has run evenly for long enough, but the leap is too large to be believed. */
  readonly needsOpinion: boolean;
}

/** Time that may pass between two starts without doubt: a restart, an upgrade. */
export const START_LEAP_MICROS_MAX = 600_000_000;
/** The slack: synchronized clocks drift apart by less. */
const SLACK = 1 / 1_000;
/** Smaller steps come from reading two clocks one after the other, whatever the skew. */
const STEP_MICROS_MIN = 200_000;
/** Two monotonic readings around the wall clock's are at most this far apart, or are repeated. */
const READING_MS_MAX = 5;
const READINGS_MAX = 3;

export class ClockBelief {
  readonly #options: ClockBeliefOptions;
  readonly #toleranceMicros: Micros;
  /** Where the wall clock would be if it had run evenly with the monotonic clock. */
  #expectedMicros: Micros;
  #wallMicros: Micros;
  #atMs: Millis;
  /**
   * Since when the wall clock has run evenly, and its offset from the monotonic clock at that time.
   */
  #even: { readonly atMs: Millis; readonly offsetMicros: Micros };
  #doubtedAtMs: Millis | undefined;

  /** Believes the wall clock. `start` and `adopt` compare it with a stored time. */
  constructor(options: ClockBeliefOptions) {
    this.#options = options;
    this.#toleranceMicros = Math.max(options.skewMicros, STEP_MICROS_MIN);
    const { wallMicros, atMs } = readClocks(options.clock);
    this.#expectedMicros = wallMicros;
    this.#wallMicros = wallMicros;
    this.#atMs = atMs;
    this.#even = { atMs, offsetMicros: wallMicros - atMs * 1_000 };
  }

  /** Called when this process starts, with the stored believed time. */
  start(storedMicros: Micros): void {
    this.#compareWith(storedMicros, START_LEAP_MICROS_MAX);
  }

  /** Another process has stored a believed time, at most `agoMicros` ago. */
  adopt(storedMicros: Micros, agoMicros: Micros): void {
    this.#compareWith(storedMicros, agoMicros + this.#toleranceMicros);
  }

  /** Believes the wall clock from now on. */
  believeWall(): void {
    this.update();
    this.#expectedMicros = this.#wallMicros;
    this.#doubtedAtMs = undefined;
  }

  /**
   * Reads both clocks. Doubt begins here, and ends when the wall clock is back at its expected
   * time.
   */
  update(): void {
    const { wallMicros, atMs } = readClocks(this.#options.clock);
    const passedMicros = (atMs - this.#atMs) * 1_000;
    this.#atMs = atMs;
    this.#wallMicros = wallMicros;
    this.#expectedMicros += passedMicros;
    this.#watchEvenness();
    const gap = wallMicros - this.#expectedMicros;
    const slack = passedMicros * SLACK;
    if (Math.abs(gap) > this.#toleranceMicros + slack) {
      this.#doubtedAtMs ??= atMs;
      return;
    }
    this.#doubtedAtMs = undefined;
    this.#expectedMicros += Math.max(-slack, Math.min(slack, gap));
  }

  /** Ends doubt, and lets believed time leap, if the wall clock meets the conditions. */
  endDoubt({ opinionAgrees }: { readonly opinionAgrees: boolean }): boolean {
    const doubt = this.doubt();
    if (doubt === undefined) return false;
    const { evenMs, evenMaxMs } = this.#options;
    if (doubt.evenForMs < evenMs) return false;
    if (doubt.needsOpinion && !opinionAgrees && doubt.evenForMs < evenMaxMs) return false;
    this.#expectedMicros = this.#wallMicros;
    this.#doubtedAtMs = undefined;
    return true;
  }

  /** As of the last `update`. */
  doubt(): ClockDoubt | undefined {
    if (this.#doubtedAtMs === undefined) return undefined;
    const { evenMs, believeMaxMicros } = this.#options;
    const leapMicros = this.#wallMicros - this.#expectedMicros;
    const evenForMs = this.#atMs - this.#even.atMs;
    return {
      leapMicros,
      sinceMs: this.#atMs - this.#doubtedAtMs,
      evenForMs,
      needsOpinion: evenForMs >= evenMs && Math.abs(leapMicros) > believeMaxMicros,
    };
  }

  /** The time to store: it rises with the monotonic clock, also in doubt. */
  get believedMicros(): Micros {
    return Math.floor(this.#expectedMicros);
  }

  /** The time to act on: never ahead of the wall clock. */
  get nowMicros(): Micros {
    return Math.floor(Math.min(this.#expectedMicros, this.#wallMicros));
  }

  get wallMicros(): Micros {
    return this.#wallMicros;
  }

  #compareWith(storedMicros: Micros, leapMicrosMax: Micros): void {
    this.update();
    const gap = this.#wallMicros - storedMicros;
    if (gap + this.#toleranceMicros >= 0 && gap <= leapMicrosMax) {
      this.#expectedMicros = this.#wallMicros;
      this.#doubtedAtMs = undefined;
    } else {
      this.#expectedMicros = storedMicros;
      this.#doubtedAtMs ??= this.#atMs;
    }
  }

  #watchEvenness(): void {
    const offsetMicros = this.#wallMicros - this.#atMs * 1_000;
    const ranMicros = (this.#atMs - this.#even.atMs) * 1_000;
    const allowed = this.#toleranceMicros + ranMicros * SLACK;
    if (Math.abs(offsetMicros - this.#even.offsetMicros) <= allowed) return;
    this.#even = { atMs: this.#atMs, offsetMicros };
  }
}

/** Both clocks at one moment: the process can be suspended between two readings. */
function readClocks(clock: Clock): { readonly wallMicros: Micros; readonly atMs: Millis } {
  for (let reading = 1; ; reading++) {
    const before = clock.monotonicMs();
    const wallMicros = clock.nowMicros();
    const atMs = clock.monotonicMs();
    if (atMs - before <= READING_MS_MAX || reading === READINGS_MAX) return { wallMicros, atMs };
  }
}
