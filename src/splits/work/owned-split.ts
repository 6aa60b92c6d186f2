/**
 * A split that this process works on: its record, changed by nobody else as long as it is owned.
 *
 * Changes are made one after another by compare-and-set, and each is a heartbeat; without changes
 * the heartbeat continues by itself. A worker that finds a newer fence has lost the split: it stops
 * and writes nothing more. Parts that it has copied but not listed are garbage (rule C8).
 */
import { LinkedAbort } from "../../lib/linked-abort.ts";
import { moveSplit } from "../record/move-split.ts";
import { readSplit } from "../../records/split-records.ts";
import { movedSplit } from "../../model/split-moves.ts";
import type { MoveCause } from "../../model/move-cause.ts";
import type { SplitRecord, SplitState } from "../../model/split.ts";
import { Interruption, reopened } from "./interruption.ts";
import { LEASE_MS } from "./split-context.ts";
import type { SplitContext } from "./split-context.ts";

/** Changes in a row that another process without a fence came between: more is no accident. */
const ATTEMPTS_MAX = 5;

export class OwnedSplit {
  readonly #context: SplitContext;
  readonly #stop: LinkedAbort;
  readonly #heartbeats: Promise<void>;
  /** When it was claimed. */
  readonly #epoch: number;
  #record: SplitRecord;
  #changes: Promise<unknown> = Promise.resolve();
  /** A change has failed and may have been made all the same. */
  #outcomeUnknown = false;
  #over = false;
  #changedAtMs: number;
  /**
   * Of every attempt to change it, made or not: no two carry the same, so each is known by its own.
   */
  #heartbeat = 0;

  private constructor(context: SplitContext, record: SplitRecord, signal: AbortSignal) {
    this.#context = context;
    this.#record = record;
    this.#epoch = record.epoch;
    this.#stop = new LinkedAbort(signal);
    this.#changedAtMs = context.clock.monotonicMs();
    this.#heartbeats = this.#keepAlive();
  }

  /** Undefined if another process was faster. `state` is the one it has while it is looked at. */
  static async claim(
    context: SplitContext,
    before: SplitRecord,
    state: SplitState,
    reason: string,
    signal: AbortSignal,
  ): Promise<OwnedSplit | undefined> {
    const { catalog, clock, by, observe } = context;
    const at = clock.nowMicros();
    const changes = {
      owner: { by, heartbeat: 0 },
      fence: before.fence + 1,
      // It stays due, so that others find it if this process dies.
      dueAt: before.dueAt ?? at,
    };
    const after =
      state === before.state
        ? { ...before, ...changes }
        : movedSplit(before, state, { at, by, cause: "claim", reason }, changes);
    const claimed = await moveSplit(catalog, clock, before, after);
    if (claimed === undefined) return undefined;
    tell(observe, before, after);
    return new OwnedSplit(context, claimed, signal);
  }

  get record(): SplitRecord {
    return this.#record;
  }

  /** Another process has it, or it was let go. */
  get over(): boolean {
    return this.#over;
  }

  /** Aborted when the split is lost or let go, and when the process stops. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /**
   * Rejects as overtaken if it is no longer ours, and as reopened if it is in another epoch than
   * when it was claimed: what was decided then counts no more (rule C3). If it rejects otherwise it
   * may have been made.
   */
  change(make: (record: SplitRecord) => SplitRecord): Promise<SplitRecord> {
    return this.#inTurn((record) => {
      if (record.epoch !== this.#epoch) throw reopened();
      return make(record);
    });
  }

  /** A change of state, and why. */
  async move(
    to: SplitState,
    cause: MoveCause,
    reason: string,
    change: (record: SplitRecord) => Partial<SplitRecord> = () => ({}),
  ): Promise<SplitRecord> {
    const { clock, by, observe } = this.#context;
    let before = this.#record;
    const after = await this.change((record) => {
      before = record;
      return movedSplit(record, to, { at: clock.nowMicros(), by, cause, reason }, change(record));
    });
    tell(observe, before, after);
    return after;
  }

  /** The last change, in whatever epoch: from then on it is nobody's. Call `close` all the same. */
  async rest(make: (record: SplitRecord) => SplitRecord): Promise<SplitRecord> {
    let before = this.#record;
    const after = await this.#inTurn((record) => {
      before = record;
      return { ...make(record), owner: null };
    });
    this.#lose();
    if (after.state !== before.state) tell(this.#context.observe, before, after);
    return after;
  }

  /** Resolves when nothing of it is under way. Writes nothing. */
  async close(): Promise<void> {
    this.#lose();
    await this.#heartbeats;
    await this.#changes;
  }

  #inTurn(make: (record: SplitRecord) => SplitRecord): Promise<SplitRecord> {
    const change = this.#changes.then(() => this.#change(make));
    this.#changes = change.catch(() => undefined);
    return change;
  }

  async #change(make: (record: SplitRecord) => SplitRecord): Promise<SplitRecord> {
    const { catalog, clock, by } = this.#context;
    for (let attempt = 0; attempt < ATTEMPTS_MAX && !this.#over; attempt++) {
      if (this.#outcomeUnknown) await this.#reread();
      const before = this.#record;
      const heartbeat = ++this.#heartbeat;
      const made = make(before);
      const after = { ...made, owner: made.owner === null ? null : { by, heartbeat } };
      // Until the answer is there.
      this.#outcomeUnknown = true;
      const written = await moveSplit(catalog, clock, before, after);
      this.#changedAtMs = clock.monotonicMs();
      if (written !== undefined) {
        this.#outcomeUnknown = false;
        this.#record = written;
        return written;
      }
      // Another process has written it. With our fence it is still ours; with this heartbeat our
      // change was made.
      await this.#reread();
      if (this.#record.owner?.heartbeat === heartbeat) return this.#record;
    }
    this.#lose();
    throw overtaken();
  }

  /** Ours is what has our fence and our name: others raise the fence when they take it. */
  async #reread(): Promise<void> {
    const { catalog, by } = this.#context;
    const found = await readSplit(catalog, this.#record.partition);
    if (found?.fence !== this.#record.fence || found.owner?.by !== by) {
      this.#lose();
      throw overtaken();
    }
    this.#record = found;
    this.#outcomeUnknown = false;
  }

  #lose(): void {
    this.#over = true;
    this.#stop.abort();
  }

  async #keepAlive(): Promise<void> {
    const { clock, leaseMs = LEASE_MS } = this.#context;
    const intervalMs = Math.ceil(leaseMs / 3);
    while (!this.#over && !this.signal.aborted) {
      const restedMs = clock.monotonicMs() - this.#changedAtMs;
      if (restedMs < intervalMs) {
        await clock.sleep(intervalMs - restedMs, this.signal);
        continue;
      }
      this.#changedAtMs = clock.monotonicMs();
      try {
        await this.change((record) => record);
      } catch {
        // Being overtaken ends the loop; while the catalog is away it is asked again, until someone
        // takes over.
      }
    }
  }
}

function overtaken(): Interruption {
  return new Interruption("overtaken", "another worker or an operator has taken this split over");
}

function tell(
  observe: SplitContext["observe"],
  before: SplitRecord,
  { namespace, partition, state, history }: SplitRecord,
): void {
  const last = history.at(-1);
  if (last === undefined || last === before.history.at(-1)) return;
  const { cause, reason } = last;
  observe({ kind: "moved", namespace, partition, from: before.state, to: state, cause, reason });
}
