/**
 * An iterator that continues when its store is reopened: it requests the bounds again, which then
 * begin after the last entry it read.
 */
import type { CheckedLevel } from "./checked-level.ts";
import { levelCode } from "./level-errors.ts";
import type { LevelIterator, LevelIteratorOptions } from "./level.ts";

export class SteadyIterator {
  readonly #level: CheckedLevel;
  readonly #bounds: () => LevelIteratorOptions;
  readonly #signal: AbortSignal;
  #iterator: LevelIterator | undefined;
  #generation = -1;

  /** `bounds` returns the bounds of what is left to read. */
  constructor(level: CheckedLevel, bounds: () => LevelIteratorOptions, signal: AbortSignal) {
    this.#level = level;
    this.#bounds = bounds;
    this.#signal = signal;
  }

  async next(count: number): Promise<[Buffer, Buffer][]> {
    for (;;) {
      this.#signal.throwIfAborted();
      try {
        if (this.#iterator === undefined) {
          this.#iterator = await this.#level.iterate({ ...this.#bounds(), signal: this.#signal });
          this.#generation = this.#level.generation;
        }
        return await this.#iterator.nextv(count);
      } catch (error) {
        this.#signal.throwIfAborted();
        if (
          isClosed(error) &&
          this.#iterator !== undefined &&
          this.#level.wasReopened(this.#generation)
        ) {
          this.#iterator = undefined;
          continue;
        }
        throw this.#level.readError(error);
      }
    }
  }

  async close(): Promise<void> {
    await this.#iterator?.close();
  }
}

function isClosed(error: unknown): boolean {
  const code = levelCode(error);
  return code === "LEVEL_ITERATOR_NOT_OPEN" || code === "LEVEL_DATABASE_NOT_OPEN";
}
