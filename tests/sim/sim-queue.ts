/** A queue as bad as the port allows: messages come late, twice, to any consumer, or not at all. */
import type { Clock } from "../../src/lib/clock.ts";
import type { MessageHandler, QueueMessage } from "../../src/ports/work-queue.ts";
import type { SeededRandom } from "./seeded-random.ts";

const LOST = 0.2;
const TWICE = 0.3;
const DELAY_MS_MAX = 8_000;
const HELD_MAX = 10_000;

export class SimQueue {
  readonly #clock: Clock;
  readonly #random: SeededRandom;
  readonly #faulty: boolean;
  readonly #handlers = new Map<string, MessageHandler>();
  readonly #seen: QueueMessage[] = [];
  readonly #signal = new AbortController().signal;

  /** `faulty`: it loses and repeats. It is late in any case. */
  constructor(clock: Clock, random: SeededRandom, faulty: boolean) {
    this.#clock = clock;
    this.#random = random;
    this.#faulty = faulty;
  }

  publish(message: QueueMessage): "accepted" | "dropped" {
    if (this.#seen.length < HELD_MAX) this.#seen.push(message);
    if (this.#faulty && this.#random.chance(LOST)) return "accepted";
    this.#deliverLater(message);
    if (this.#faulty && this.#random.chance(TWICE)) this.#deliverLater(message);
    return "accepted";
  }

  /** Every message ever published comes again. */
  replay(): void {
    for (const message of this.#seen) this.#deliverLater(message);
  }

  consume(name: string, handler: MessageHandler): void {
    this.#handlers.set(name, handler);
  }

  leave(name: string): void {
    this.#handlers.delete(name);
  }

  #deliverLater(message: QueueMessage): void {
    this.#clock.after(this.#random.below(DELAY_MS_MAX), () => {
      const names = [...this.#handlers.keys()];
      if (names.length === 0) return;
      const handler = this.#handlers.get(this.#random.one(names));
      // In Kafka a failed message comes again; here it is lost, which the port allows.
      handler?.(message, this.#signal).catch(() => undefined);
    });
  }
}
