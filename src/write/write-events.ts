/**
 * Writes a batch: place, append, check again, answer.
 *
 * An event is acknowledged only when it is durable *and* still at or above the floor by a view that
 * is young enough: this process may have paused between its first check and the storage's answer
 * (rules C1 and C2).
 */
import type { ByteBudget } from "../lib/byte-budget.ts";
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import { closedBelow } from "../model/namespace.ts";
import type { Namespace, NamespaceView, ViewSource } from "../model/namespace.ts";
import type { EventStore } from "../ports/event-store.ts";
import type { WriteBatch } from "../wire/write-request.ts";
import { nextTurn } from "../lib/in-steps.ts";
import { placeEvents } from "./place-events.ts";
import type { EventFailure, Placement, SliceGroup } from "./place-events.ts";

export interface WriteResult {
  /** How many events are durable (or queued, by `WriteQueue`). */
  readonly taken: number;
  /** By index. */
  readonly failures: readonly EventFailure[];
  readonly timeTakenMs: number;
}

export interface WriteDependencies {
  readonly clock: Clock;
  readonly store: EventStore;
  readonly views: ViewSource;
  /** Of all requests under way in this process. */
  readonly budget: ByteBudget;
  /** Called with the number of events that became durable. */
  readonly onWritten?: (namespace: string, events: number) => void;
}

/** Long enough for the disk's queue to move, short enough not to leave it idle. */
const OVERLOAD_RETRY_MS = 100;

/** Each open slice costs the engine memory. */
/** Events that are placed at a time: a few milliseconds of work. */
const STEP_EVENTS = 2_000;
const SLICES_AT_ONCE = 4;
const LATER_SLICES_MS = 2_000;

const NOT_STORED =
  "the storage of this event's time slice did not accept it; repeat it in a moment";

const UNKNOWN = "the event may or may not be stored; repeat it, the same event twice is one event";

export class EventWriter {
  readonly #deps: WriteDependencies;

  constructor(deps: WriteDependencies) {
    this.#deps = deps;
  }

  /** The signal ends the wait, not the storing: the answer is then OUTCOME_UNKNOWN. */
  async write(batch: WriteBatch, signal: AbortSignal): Promise<WriteResult> {
    const { clock, budget } = this.#deps;
    const startedMs = clock.monotonicMs();
    signal.throwIfAborted();
    if (!budget.tryTake(batch.bytes)) throw overloaded();
    let storing: Promise<unknown> = Promise.resolve();
    try {
      const view = await this.#view(batch.namespace);
      // Nothing is stored yet, so the answer can still say so.
      signal.throwIfAborted();
      const { placement, appends } = await this.#begin(view, batch.events);
      storing = appends;
      const outcomes = await settleOrAbort(appends, signal);
      const result = await this.#acknowledge(batch.namespace, view, placement, outcomes);
      return { ...result, timeTakenMs: clock.monotonicMs() - startedMs };
    } finally {
      // A caller that stops waiting does not free the memory that the storing still uses.
      void storing.finally(() => budget.give(batch.bytes));
    }
  }

  /** What `write` would refuse at this moment, without writing. */
  async check(batch: WriteBatch): Promise<Placement> {
    const view = await this.#view(batch.namespace);
    return placeEvents(view, batch.events, this.#deps.clock.nowMicros());
  }

  /**
   * Places the events and begins to store them. A large batch is done in steps, which others come
   * between.
   */
  async #begin(
    view: NamespaceView,
    events: WriteBatch["events"],
  ): Promise<{ readonly placement: Placement; readonly appends: Promise<unknown[]> }> {
    const groups: SliceGroup[] = [];
    const failures: EventFailure[] = [];
    const appends: Promise<unknown[]>[] = [];
    for (let at = 0; at < events.length; at += STEP_EVENTS) {
      if (at > 0) await nextTurn();
      const some = events.length <= STEP_EVENTS ? events : events.slice(at, at + STEP_EVENTS);
      const placed = placeEvents(view, some, this.#deps.clock.nowMicros(), at);
      groups.push(...placed.groups);
      for (const failure of placed.failures) failures.push(failure);
      appends.push(this.#appendAll(view, placed.groups));
    }
    return {
      placement: { groups, failures },
      appends: Promise.all(appends).then((outcomes) => outcomes.flat()),
    };
  }

  /** An outcome for each group; a batch over many slices writes to a few of them at a time. */
  async #appendAll(view: NamespaceView, groups: readonly SliceGroup[]): Promise<unknown[]> {
    const { clock } = this.#deps;
    const outcomes: unknown[] = [];
    const startedMs = clock.monotonicMs();
    for (let at = 0; at < groups.length; at += SLICES_AT_ONCE) {
      const some = groups.slice(at, at + SLICES_AT_ONCE);
      // All groups were checked before the first append: slow storage must not extend the time
      // between.
      if (clock.monotonicMs() - startedMs > LATER_SLICES_MS) {
        outcomes.push(...some.map(() => new ServiceError("STORAGE_UNAVAILABLE", NOT_STORED)));
        continue;
      }
      outcomes.push(...(await Promise.all(some.map((group) => this.#append(view, group)))));
    }
    return outcomes;
  }

  /** Never rejects: an unhandled rejection must not arise after the caller has left. */
  async #append(view: NamespaceView, group: SliceGroup): Promise<unknown> {
    try {
      await this.#deps.store.append(
        { namespaceId: view.namespace.id, slice: group.slice.name },
        group.events,
        { ...view.namespace.config.slos.write, consistency: view.namespace.config.consistency },
      );
      return undefined;
    } catch (error) {
      return error;
    }
  }

  async #acknowledge(
    name: string,
    view: NamespaceView,
    placement: Placement,
    outcomes: readonly unknown[],
  ): Promise<Omit<WriteResult, "timeTakenMs">> {
    const { groups, failures } = placement;
    if (groups.length === 0) return { taken: 0, failures };
    const errors = outcomes.filter((outcome) => outcome !== undefined);
    if (errors.length === groups.length) {
      // Of several reasons, the least certain one holds for the whole batch.
      throw errors.find((error) => !isCertain(error)) ?? errors[0];
    }

    const latest = await this.#viewAgain(name);
    const floor = sealedBelow(view.namespace, latest?.namespace, this.#deps.clock.nowMicros());
    let taken = 0;
    groups.forEach((group, nth) => {
      const stored = outcomes[nth] === undefined;
      const refused = isCertain(outcomes[nth]);
      group.events.forEach((placed, i) => {
        if (stored && placed.event.time >= floor) taken++;
        else {
          const index = group.indexes[i] as number;
          failures.push(
            refused
              ? { index, code: "OVERLOADED", message: NOT_STORED }
              : { index, code: "OUTCOME_UNKNOWN", message: UNKNOWN },
          );
        }
      });
    });
    if (failures.length > 1) failures.sort((a, b) => a.index - b.index);
    this.#deps.onWritten?.(name, taken);
    return { taken, failures };
  }

  async #view(name: string): Promise<NamespaceView> {
    return this.#deps.views.current(name) ?? this.#deps.views.get(name);
  }

  /** Undefined if no view is young enough: then nothing may be acknowledged. */
  async #viewAgain(name: string): Promise<NamespaceView | undefined> {
    try {
      return await this.#view(name);
    } catch (error) {
      if (error instanceof ServiceError) return undefined;
      throw error;
    }
  }
}

export function overloaded(): ServiceError {
  return new ServiceError(
    "OVERLOADED",
    "the server holds as many unwritten bytes as it may; repeat after the hint, with fewer in flight",
    { retryAfterMs: OVERLOAD_RETRY_MS },
  );
}

/**
 * Below this event time an event may be missing from what others serve, so it is not acknowledged.
 *
 * A new epoch begins with a lower floor, but until every process knows of it some follow the splits
 * of the previous epoch. When the re-opening is complete, the view no longer says how far the
 * previous floor had risen: it was no further than the lowest limit in force allows.
 */
function sealedBelow(placed: Namespace, latest: Namespace | undefined, nowMicros: number): number {
  if (latest?.id !== placed.id) return Number.POSITIVE_INFINITY;
  if (latest.epoch === placed.epoch) return closedBelow(latest);
  // A limit that was lowered before it was raised stays in force until the re-opening is complete.
  const limit = Math.min(placed.config.acceptLimitMicros, latest.config.acceptLimitMicros);
  return Math.max(closedBelow(latest), nowMicros - limit);
}

/** Whether the store reported that nothing was stored. */
function isCertain(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  return error.code === "STORAGE_UNAVAILABLE" || error.code === "OVERLOADED";
}

async function settleOrAbort(
  settled: Promise<readonly unknown[]>,
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  let abort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(new ServiceError("OUTCOME_UNKNOWN", UNKNOWN, { cause: signal.reason }));
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
  });
  try {
    return await Promise.race([settled, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
