/**
 * How much was written to each slice, by all servers together: counters in Cassandra, to which each
 * process adds its writes periodically.
 *
 * Approximate, not exact: what a process has not added yet is lost when it dies, and an addition
 * whose answer is lost is repeated.
 */
import cassandra from "cassandra-driver";
import type { Clock } from "../../lib/clock.ts";
import type { SliceRef } from "../../model/partition.ts";
import type { SliceStats } from "../../ports/event-store.ts";
import type { Session } from "./session.ts";

const { consistencies } = cassandra.types;
const { FallthroughRetryPolicy } = cassandra.policies.retry;

const ADD_EVERY_MS = 1_000;
const KIND = "counts";
const OPTIONS = { consistency: consistencies.localQuorum, readTimeout: 5_000 };
/** Adding twice counts twice. */
const ADDING = { ...OPTIONS, isIdempotent: false, retry: new FallthroughRetryPolicy() };

interface Pending {
  readonly slice: SliceRef;
  events: number;
  bytes: number;
}

export class SliceCounts {
  readonly #session: Pick<Session, "execute">;
  readonly #clock: Clock;
  readonly #table: string;
  /** By slice; as many as are being written to. */
  #pending = new Map<string, Pending>();
  #adding: Promise<void> | undefined;
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(session: Pick<Session, "execute">, clock: Clock, keyspace: string) {
    this.#session = session;
    this.#clock = clock;
    this.#table = `${keyspace}.slice_counts`;
  }

  add(slice: SliceRef, events: number, bytes: number): void {
    const name = `${slice.namespaceId}/${slice.slice}`;
    const pending = this.#pending.get(name);
    if (pending === undefined) this.#pending.set(name, { slice, events, bytes });
    else {
      pending.events += events;
      pending.bytes += bytes;
    }
    if (this.#closed) return;
    this.#cancel ??= this.#clock.after(ADD_EVERY_MS, () => {
      this.#cancel = undefined;
      void this.flush();
    });
  }

  async read(slice: SliceRef): Promise<SliceStats> {
    await this.flush();
    const query = `SELECT events, bytes FROM ${this.#table} WHERE namespace_id = ? AND slice = ?`;
    const { rows } = await this.#session.execute(
      KIND,
      query,
      [slice.namespaceId, slice.slice],
      OPTIONS,
    );
    return { events: Number(rows[0]?.["events"] ?? 0), bytes: Number(rows[0]?.["bytes"] ?? 0) };
  }

  async forget(slice: SliceRef): Promise<void> {
    this.#pending.delete(`${slice.namespaceId}/${slice.slice}`);
    const query = `DELETE FROM ${this.#table} WHERE namespace_id = ? AND slice = ?`;
    await this.#session.execute(KIND, query, [slice.namespaceId, slice.slice], OPTIONS);
  }

  /** Adds what was written until now. A failed addition is repeated later. Never rejects. */
  async flush(): Promise<void> {
    while (this.#adding !== undefined) await this.#adding;
    if (this.#pending.size === 0) return;
    this.#adding = this.#addAll();
    try {
      await this.#adding;
    } finally {
      this.#adding = undefined;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    await this.flush();
  }

  async #addAll(): Promise<void> {
    const pending = this.#pending;
    this.#pending = new Map();
    const query = `UPDATE ${this.#table} SET events = events + ?, bytes = bytes + ? WHERE namespace_id = ? AND slice = ?`;
    for (const { slice, events, bytes } of pending.values()) {
      try {
        const params = [events, bytes, slice.namespaceId, slice.slice];
        await this.#session.execute(KIND, query, params, ADDING);
      } catch {
        // Counts are for people: the next addition tries again, and no caller waits for it.
        this.add(slice, events, bytes);
      }
    }
  }
}
