/**
 * Which tables have prepared statements of several inserts each.
 *
 * Such a statement costs client and node least, but there are twenty for a table, the largest of 64
 * inserts, and a node keeps prepared statements in 1/256 of its heap (10 MiB of a small one). With
 * some tens of tables in use they would push each other out, and every write would prepare its
 * statement again. So only a few tables have them: those that are written to all the time. Writes
 * to any other table repeat one prepared insert in a batch of the protocol.
 *
 * A table makes room for another when nothing was written to it for a while: tables in turn never
 * push each other out.
 */
import type { Clock } from "../../lib/clock.ts";

const TABLES_MAX = 12;
const UNUSED_MS = 60_000;

export class BatchStatements {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #tablesMax: number;
  /** When each was last written to; the one that was written to last comes last. */
  readonly #tables = new Map<string, number>();

  constructor(clock: Pick<Clock, "monotonicMs">, tablesMax: number = TABLES_MAX) {
    this.#clock = clock;
    this.#tablesMax = tablesMax;
  }

  /** For a write to the table. */
  includes(table: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (!this.#tables.delete(table) && !this.#makeRoom(nowMs)) return false;
    this.#tables.set(table, nowMs);
    return true;
  }

  #makeRoom(nowMs: number): boolean {
    if (this.#tables.size < this.#tablesMax) return true;
    for (const [oldest, usedAtMs] of this.#tables) {
      return nowMs - usedAtMs >= UNUSED_MS && this.#tables.delete(oldest);
    }
    return false;
  }
}
