/**
 * The progress of one comparison, as this process has it and as the catalog has it.
 *
 * What a range has found and how far the comparison has come change together, and are written by
 * compare-and-set every few seconds. So a process that continues after a crash repeats a range at
 * most, and counts nothing twice. A write that finds another version has lost the comparison to
 * another process.
 */
import type { Clock } from "../../lib/clock.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { DIFFERENCES_KEPT } from "./compare-range.ts";
import type { Compared } from "./compare-range.ts";
import { writeVerify } from "./verify-records.ts";
import type { BegunSplit, Checkpoint, VerifyRecord } from "./verify-records.ts";

export interface SavedProgressOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Called when another process has taken the comparison over. */
  readonly lost: () => void;
}

const SAVE_MS = 2_000;

export class SavedProgress {
  readonly #options: SavedProgressOptions;
  /** As it is stored. */
  #stored: VerifyRecord;
  /** With what has come since. Replaced whole, so that it can be written at any time. */
  #now: VerifyRecord;
  #saving: Promise<void> = Promise.resolve();
  #lost = false;

  /** `claimed`: its owner is this process. */
  constructor(options: SavedProgressOptions, claimed: VerifyRecord) {
    this.#options = options;
    this.#stored = claimed;
    this.#now = claimed;
  }

  get now(): VerifyRecord {
    return this.#now;
  }

  /** Only what is stored is over: otherwise a process that finds it running continues it. */
  get isOver(): boolean {
    return !this.#lost && this.#stored.state !== "RUNNING";
  }

  change(change: Partial<VerifyRecord>): void {
    this.#now = { ...this.#now, ...change };
  }

  moveTo(checkpoint: Partial<Checkpoint>): void {
    this.change({ checkpoint: { ...this.#now.checkpoint, ...checkpoint } });
  }

  /** What a range of a split has found, and that it is done: at once. */
  add(compared: Compared, split: string, begun: BegunSplit): void {
    const now = this.#now;
    const room = DIFFERENCES_KEPT - now.differences.length;
    this.change({
      eventsCompared: now.eventsCompared + compared.events,
      bytesCompared: now.bytesCompared + compared.bytes,
      differences: [...now.differences, ...compared.differences.slice(0, room)],
      differencesFound: now.differencesFound + compared.differencesFound,
      checkpoint: { ...now.checkpoint, begun: { ...now.checkpoint.begun, [split]: begun } },
    });
  }

  /** Saves again and again until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#lost) {
      await this.#options.clock.sleep(SAVE_MS, signal);
      if (!signal.aborted) await this.#save();
    }
  }

  /** Saves for the last time. The next owner need not wait until this process looks dead. */
  async release(): Promise<void> {
    this.change({ owner: null });
    await this.#save();
  }

  /** One after another. Never rejects: what is not saved is saved with the next. */
  #save(): Promise<void> {
    this.#saving = this.#saving.then(async () => {
      if (this.#lost) return;
      const { owner } = this.#now;
      const heartbeat = (this.#stored.owner?.heartbeat ?? 0) + 1;
      const next = {
        ...this.#now,
        owner: owner === null ? null : { ...owner, heartbeat },
        version: this.#stored.version,
      };
      try {
        const written = await writeVerify(this.#options.catalog, next);
        if (written === undefined) this.#lose();
        else this.#stored = written;
      } catch {
        // If it was written all the same, the next one finds another version, and has lost it.
      }
    });
    return this.#saving;
  }

  /** The process that has it now continues from what was saved last. */
  #lose(): void {
    this.#lost = true;
    this.#options.lost();
  }
}
