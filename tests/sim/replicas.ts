/**
 * One replica that always answers, or three of which some may be down, slow or forgetful.
 *
 * A write is tried at every replica. One that is down or slow gets it later as a hint, if the hint
 * is not lost; either way it has not acknowledged. A read asks as many of those that answer as the
 * level requires.
 */
import type { Clock } from "../../src/lib/clock.ts";
import { ServiceError } from "../../src/lib/errors.ts";
import type { ServiceLevel } from "../../src/ports/event-store.ts";
import type { SeededRandom } from "./seeded-random.ts";

type Consistency = ServiceLevel["consistency"] | undefined;

export interface ReplicaFaults {
  /** Chance that a replica which is up does not take a write in time, and gets it as a hint. */
  readonly slow: number;
  /** Chance that a hint is lost: the row stays missing on that replica until a repair. */
  readonly hintLost: number;
  readonly hintMsMax: number;
}

const FAITHFUL: ReplicaFaults = { slow: 0, hintLost: 0, hintMsMax: 1 };

export class Replicas {
  readonly count: number;
  readonly #clock: Clock;
  readonly #random: SeededRandom;
  readonly #down = new Set<number>();
  /** Takes writes only as hints, and answers reads from what it has. */
  #lagging: number | undefined;
  faults: ReplicaFaults = FAITHFUL;
  noted: (what: string) => void = () => undefined;

  constructor(count: 1 | 3, clock: Clock, random: SeededRandom) {
    this.count = count;
    this.#clock = clock;
    this.#random = random;
  }

  setDown(replica: number, down: boolean): void {
    if (down) this.#down.add(replica);
    else this.#down.delete(replica);
  }

  setLagging(replica: number | undefined): void {
    this.#lagging = replica;
  }

  get majority(): number {
    return Math.floor(this.count / 2) + 1;
  }

  get hasMajority(): boolean {
    return this.count - this.#down.size >= this.majority;
  }

  isDown(replica: number): boolean {
    return this.#down.has(replica);
  }

  /** Applies a write at the replicas; throws unless enough of them have acknowledged it. */
  write(consistency: Consistency, apply: (replica: number) => void): void {
    let acknowledged = 0;
    for (let replica = 0; replica < this.count; replica++) {
      if (this.#takes(replica)) {
        apply(replica);
        acknowledged++;
      } else this.#hint(replica, apply);
    }
    if (acknowledged >= this.#needed(consistency)) return;
    // A hint is as good as stored: it may surface at any time.
    throw new ServiceError("OUTCOME_UNKNOWN", `${acknowledged} of ${this.count} replicas answered`);
  }

  #takes(replica: number): boolean {
    if (this.count === 1) return true;
    if (this.#down.has(replica) || this.#lagging === replica) return false;
    return !this.#random.chance(this.faults.slow);
  }

  #hint(replica: number, apply: (replica: number) => void): void {
    if (this.#random.chance(this.faults.hintLost)) return this.noted("hint lost");
    this.noted("hint kept");
    const deliver = (): void => {
      if (!this.#down.has(replica)) return apply(replica);
      this.#clock.after(1_000 + this.#random.below(this.faults.hintMsMax), deliver);
    };
    this.#clock.after(this.#random.below(this.faults.hintMsMax), deliver);
  }

  /** The replicas that a read asks. */
  read(consistency: Consistency): readonly number[] {
    if (this.count === 1) return ONE;
    const needed = this.#needed(consistency);
    const up = [0, 1, 2].filter((replica) => !this.#down.has(replica));
    if (up.length < needed) {
      throw new ServiceError("STORAGE_UNAVAILABLE", `${up.length} of ${needed} replicas are up`);
    }
    while (up.length > needed) up.splice(this.#random.below(up.length), 1);
    return up;
  }

  #needed(consistency: Consistency): number {
    if (consistency === "ALL") return this.count;
    return consistency === "EVENTUAL" ? 1 : this.majority;
  }
}

const ONE = [0] as const;
