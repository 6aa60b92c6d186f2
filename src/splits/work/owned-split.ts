/**
 * A split that this process owns: while it does, no other worker changes the record.
 *
 * The owner changes the record by compare-and-set, one change at a time, and each change is a
 * heartbeat; without changes, separate heartbeats continue. A worker that finds a newer fence has
 * lost the split: it stops and writes nothing more. Parts that it has copied but not listed are
 * garbage (rule C8).
 */
import { LinkedAbort } from "../../lib/linked-abort.ts";
import { LEASE_MS } from "../../lib/owner-liveness.ts";
import { moveSplit } from "../record/move-split.ts";
import { readSplit } from "../../records/split-records.ts";
import { movedSplit } from "../../model/split-moves.ts";
import type { MoveCause } from "../../model/move-cause.ts";
import type {
  SplitOwner,
  SplitRecord,
  SplitState,
  SplitStep,
  StepProgress,
} from "../../model/split.ts";
import { Interruption } from "./interruption.ts";
import type { SplitContext } from "./split-context.ts";

/**
 * How often in a row another process may change the record without raising the fence: more
 * conflicts than this are no coincidence.
 */
const ATTEMPTS_MAX = 5;

export class OwnedSplit {
  readonly #context: SplitContext;
  readonly #stop: LinkedAbort;
  readonly #heartbeats: Promise<void>;
  #record: SplitRecord;
  #changes: Promise<unknown> = Promise.resolve();
  /** A change has failed, but the catalog may have stored it. */
  #outcomeUnknown = false;
  #over = false;
  #changedAtMs: number;
  /**
   * Raised by every attempt to change the record, stored or not. No two attempts carry the same
   * number, so the number identifies the attempt.
   */
  #heartbeat = 0;
  #progress: StepProgress | undefined;

  private constructor(context: SplitContext, record: SplitRecord, signal: AbortSignal) {
    this.#context = context;
    this.#record = record;
    this.#stop = new LinkedAbort(signal);
    this.#changedAtMs = context.clock.monotonicMs();
    this.#heartbeats = this.#keepAlive();
  }

  /**
   * Undefined if another process was faster. `state`: the state of the record while this process
   * works on the split.
   */
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
      // The split stays due, so that other processes find it if this process dies.
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

  /** Whether another process has taken the split over, or this process has released it. */
  get over(): boolean {
    return this.#over;
  }

  /** Aborted when this process loses or releases the split, and when the process stops. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /**
   * More bytes and events have passed the step under way. The next change or heartbeat stores the
   * sum; a step that was begun before continues from the checkpoint.
   */
  passed(step: SplitStep, bytes: number, events: number): void {
    const begun = this.#progress?.step === step ? this.#progress : this.#begun(step);
    this.#progress = { step, bytes: begun.bytes + bytes, events: begun.events + events };
  }

  /**
   * Rejects as overtaken if this process no longer owns the split. If it rejects with any other
   * error, the catalog may have stored the change.
   */
  change(make: (record: SplitRecord) => SplitRecord): Promise<SplitRecord> {
    return this.#inTurn(make);
  }

  /** Changes the state and records the reason. */
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

  /** Makes the last change and releases the split. The caller must still call `close`. */
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

  /** Resolves when no heartbeat or change is in progress. Writes nothing. */
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
    const { catalog, clock } = this.#context;
    for (let attempt = 0; attempt < ATTEMPTS_MAX && !this.#over; attempt++) {
      if (this.#outcomeUnknown) await this.#reread();
      const before = this.#record;
      const heartbeat = ++this.#heartbeat;
      const made = make(before);
      const after = { ...made, owner: made.owner === null ? null : this.#owner(heartbeat) };
      // The outcome is unknown until the catalog answers.
      this.#outcomeUnknown = true;
      const written = await moveSplit(catalog, clock, before, after);
      this.#changedAtMs = clock.monotonicMs();
      if (written !== undefined) {
        this.#outcomeUnknown = false;
        this.#record = written;
        return written;
      }
      // Another process has written the record. If it has our fence, this process still owns the
      // split; if it has this heartbeat, the catalog has stored our change.
      await this.#reread();
      if (this.#record.owner?.heartbeat === heartbeat) return this.#record;
    }
    this.#lose();
    throw overtaken();
  }

  #begun(step: SplitStep): Pick<StepProgress, "bytes" | "events"> {
    const segment = step === "COPY" ? this.#record.segments.at(-1) : undefined;
    return segment ?? { bytes: 0, events: 0 };
  }

  #owner(heartbeat: number): SplitOwner {
    const progress = this.#progress;
    return { by: this.#context.by, heartbeat, ...(progress !== undefined && { progress }) };
  }

  /**
   * This process owns the split while the record has its fence and its name: another process raises
   * the fence when it takes the split over.
   */
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
        // The loss of the split ends the loop. While the catalog does not answer, the loop tries
        // again, until another process takes over.
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
