/**
 * Updates the high-water mark after acknowledged commits while a store is open: lazily and without
 * a sync, because each mark covers all commits before it.
 */
import type { Clock } from "../../lib/clock.ts";
import type { Mark, MarkFile } from "./mark-file.ts";

export interface MarkWriterOptions {
  readonly file: MarkFile;
  readonly clock: Clock;
  /** The mark of the last acknowledged commit. */
  readonly newest: () => Mark;
  readonly takesWrites: () => boolean;
  readonly failed: (error: unknown) => void;
  /** Once it aborts, nothing more is written: closing writes the mark itself. */
  readonly closing: AbortSignal;
}

const WRITE_EVERY_MS = 200;

export class MarkWriter {
  readonly #options: MarkWriterOptions;
  #writing: Promise<void> | undefined;

  constructor(options: MarkWriterOptions) {
    this.#options = options;
  }

  /** Called when there is a newer mark to write. */
  follow(): void {
    this.#writing ??= this.#writeLater();
  }

  /** Waits for a write that is under way. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  async #writeLater(): Promise<void> {
    const { file, clock, newest, takesWrites, failed, closing } = this.#options;
    await clock.sleep(WRITE_EVERY_MS, closing);
    try {
      if (!closing.aborted) await file.write(newest());
    } catch (error) {
      // The next mark covers more; until then a damaged tail may stay undetected for longer.
      failed(error);
    } finally {
      this.#writing = undefined;
    }
    if (file.last.sequence < newest().sequence && takesWrites()) this.follow();
  }
}
