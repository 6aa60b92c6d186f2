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
/** A slow addition delays a listing by no more than this. */
const WAIT_FOR_ADDING_MS = 500;
const ASK_ANOTHER_MS = 500;
const KIND = "counts";
const OPTIONS = { consistency: consistencies.localQuorum, readTimeout: 5_000 };
/** Adding twice counts twice. */
const ADDING = { ...OPTIONS, isIdempotent: false, retry: new FallthroughRetryPolicy() };

/** What it needs of a session. */
export type CountsSession = Pick<Session, "execute" | "speculation">;

interface Pending {
  readonly slice: SliceRef;
  events: number;
  bytes: number;
}

export class SliceCounts {
  readonly #session: CountsSession;
  readonly #clock: Clock;
  readonly #table: string;
  /** By slice; as many as are being written to. */
  #pending = new Map<string, Pending>();
  /** What the addition under way has not added yet. */
  #unanswered = new Map<string, Pending>();
  #adding: Promise<void> | undefined;
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(session: CountsSession, clock: Clock, keyspace: string) {
    this.#session = session;
    this.#clock = clock;
    this.#table = `${keyspace}.slice_counts`;
  }

  add(slice: SliceRef, events: number, bytes: number): void {
    const name = nameOf(slice);
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
    await this.#flushed();
    const query = `SELECT events, bytes FROM ${this.#table} WHERE namespace_id = ? AND slice = ?`;
    this.#session.speculation.setDelay(query, ASK_ANOTHER_MS);
    const { rows } = await this.#session.execute(
      KIND,
      query,
      [slice.namespaceId, slice.slice],
      OPTIONS,
    );
    const stats = {
      events: Number(rows[0]?.["events"] ?? 0),
      bytes: Number(rows[0]?.["bytes"] ?? 0),
    };
    for (const own of [this.#unanswered.get(nameOf(slice)), this.#pending.get(nameOf(slice))]) {
      stats.events += own?.events ?? 0;
      stats.bytes += own?.bytes ?? 0;
    }
    return stats;
  }

  async forget(slice: SliceRef): Promise<void> {
    this.#pending.delete(nameOf(slice));
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
    this.#unanswered = this.#pending;
    this.#pending = new Map();
    const query = `UPDATE ${this.#table} SET events = events + ?, bytes = bytes + ? WHERE namespace_id = ? AND slice = ?`;
    for (const [name, { slice, events, bytes }] of this.#unanswered) {
      try {
        const params = [events, bytes, slice.namespaceId, slice.slice];
        await this.#session.execute(KIND, query, params, ADDING);
      } catch {
        // Counts are for people: the next addition tries again, and no caller waits for it.
        this.add(slice, events, bytes);
      }
      this.#unanswered.delete(name);
    }
  }

  /**
   * Waits for the additions, but not long: with a node down, each can take seconds, and a listing of
   * slices must not wait for a number that is approximate anyway.
   */
  async #flushed(): Promise<void> {
    const waited = new AbortController();
    const bound = this.#clock.sleep(WAIT_FOR_ADDING_MS, waited.signal);
    await Promise.race([this.flush(), bound]);
    waited.abort();
  }
}

function nameOf({ namespaceId, slice }: SliceRef): string {
  return `${namespaceId}/${slice}`;
}
