/**
 * The operators' view of the queue of detections: what waits, and the dead letters, which an
 * operator can look at, replay or drop.
 *
 * A replay publishes the message again, unchanged: a detection of an older epoch than the
 * namespace's still does nothing (rule C17), and one that still cannot be decoded becomes a new
 * dead letter. A process that dies between publishing and settling leaves the letter where it is,
 * so a replay may happen twice, which is harmless. A letter is settled for good: by its removal, or
 * by a note in the catalog where the queue cannot remove one.
 */
import type { Clock } from "../../lib/clock.ts";
import { decodeDetection } from "../../model/detection.ts";
import type { Detection } from "../../model/detection.ts";
import { isSettled, nextUnsettled, unsettledIn } from "../../model/settled-offsets.ts";
import type { Catalog } from "../../ports/catalog.ts";
import type {
  DeadLetter,
  DeadPosition,
  DeadRange,
  QueueState,
  WorkQueue,
} from "../../ports/work-queue.ts";
import { addDeadLetterAction, readDeadLetterRecord } from "../../records/dead-letter-records.ts";
import type {
  DeadLetterAction,
  DeadLetterRecord,
  SettledLetters,
} from "../../records/dead-letter-records.ts";
import type { OperatorRequest } from "../use-cases.ts";

export interface DeadDetectionsOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly queue: WorkQueue;
  /** Receives each action of an operator, for the log. */
  readonly observe?: (action: DeadLetterAction) => void;
}

export interface QueueReport extends QueueState {
  /** Dead letters that are not settled; an upper bound where some are gone. */
  readonly deadLetters: number;
  /** Messages per second since an earlier call; undefined if there was none lately. */
  readonly rates:
    { readonly published: number; readonly done: number; readonly overMs: number } | undefined;
}

export interface DeadDetection extends DeadLetter {
  /** What it says, if this version can decode it. */
  readonly detection: Detection | undefined;
}

export interface DeadPage {
  readonly letters: readonly DeadDetection[];
  /** Where the next page begins; undefined at the end. */
  readonly next: DeadPosition | undefined;
  /** Oldest first, a bounded number. */
  readonly actions: readonly DeadLetterAction[];
}

export interface SettledAnswer {
  readonly letters: number;
  /** Positions without a dead letter: settled before, removed, or never there. */
  readonly missing: readonly DeadPosition[];
  /** Dead letters whose value was not kept, because it was too large: they cannot be replayed. */
  readonly notKept: readonly DeadPosition[];
  /** There are more: repeat the request. */
  readonly more: boolean;
}

/** What one request settles at most, plus the letter that reaches it. */
const LETTERS_MAX = 1_000;
const BYTES_MAX = 8 * 1024 * 1024;
const PAGE = 100;
/** A rate over less than this would jump; over more it would hide what happens now. */
const RATE_MS_MIN = 1_000;
const RATE_MS_MAX = 120_000;

interface Sample {
  readonly atMs: number;
  readonly published: number;
  readonly done: number;
}

export class DeadDetections {
  readonly #options: DeadDetectionsOptions;
  #samples: readonly Sample[] = [];

  constructor(options: DeadDetectionsOptions) {
    this.#options = options;
  }

  async queue(): Promise<QueueReport> {
    const { queue, catalog } = this.#options;
    const state = await queue.state();
    const { settled } = await readDeadLetterRecord(catalog);
    const deadLetters = state.dead.reduce(
      (sum, { partition, from, to }) => sum + unsettledIn(settled.get(partition) ?? [], from, to),
      0,
    );
    return { ...state, deadLetters, rates: this.#rates(state) };
  }

  /** Those that are not settled, by position, at or behind `from`. */
  async list(from: DeadPosition, limit: number): Promise<DeadPage> {
    const { catalog, queue } = this.#options;
    const record = await readDeadLetterRecord(catalog);
    const { dead } = await queue.state();
    const letters: DeadDetection[] = [];
    let next: DeadPosition | undefined;
    for await (const letter of this.#unsettled(dead, record, from)) {
      if (letters.length === limit) {
        next = { partition: letter.partition, offset: letter.offset };
        break;
      }
      const decoded = decodeDetection(letter.value);
      const detection = decoded.kind === "detection" ? decoded.detection : undefined;
      letters.push({ ...letter, detection });
    }
    return { letters, next, actions: record.actions };
  }

  replay(
    positions: readonly DeadPosition[] | "all",
    request: OperatorRequest,
  ): Promise<SettledAnswer> {
    return this.#settle(positions, "replayed", request);
  }

  drop(
    positions: readonly DeadPosition[] | "all",
    request: OperatorRequest,
  ): Promise<SettledAnswer> {
    return this.#settle(positions, "dropped", request);
  }

  async #settle(
    positions: readonly DeadPosition[] | "all",
    action: DeadLetterAction["action"],
    { by, reason }: OperatorRequest,
  ): Promise<SettledAnswer> {
    const { catalog, clock, queue, observe } = this.#options;
    const { dead } = await queue.state();
    const found = await this.#find(positions, dead);
    const isKept = ({ value, valueBytes }: DeadLetter): boolean => value.length === valueBytes;
    const letters = action === "replayed" ? found.letters.filter(isKept) : found.letters;
    if (letters.length > 0) {
      if (action === "replayed") await queue.republish(letters);
      const done = { at: clock.nowMicros(), by, action, letters: letters.length, reason };
      const removed = queue.removeDead?.bind(queue);
      await addDeadLetterAction(
        catalog,
        done,
        removed === undefined ? byPartition(letters, dead) : [],
      );
      removed?.(letters);
      observe?.(done);
    }
    const notKept = found.letters.filter((letter) => !letters.includes(letter));
    return { letters: letters.length, missing: found.missing, notKept, more: found.more };
  }

  async #find(
    positions: readonly DeadPosition[] | "all",
    dead: readonly DeadRange[],
  ): Promise<{ letters: DeadLetter[]; missing: DeadPosition[]; more: boolean }> {
    const { catalog, queue } = this.#options;
    const record = await readDeadLetterRecord(catalog);
    const letters: DeadLetter[] = [];
    if (positions === "all") {
      let bytes = 0;
      for await (const letter of this.#unsettled(dead, record, FIRST)) {
        const isFull = letters.length === LETTERS_MAX || bytes > BYTES_MAX;
        if (isFull) return { letters, missing: [], more: true };
        letters.push(letter);
        bytes += letter.value.length;
      }
      return { letters, missing: [], more: false };
    }
    const missing: DeadPosition[] = [];
    let bytes = 0;
    for (const position of positions) {
      if (bytes > BYTES_MAX) return { letters, missing, more: true };
      const [letter] = await queue.deadLetters(position, 1);
      const isThere = letter?.offset === position.offset && !settledIn(record, position);
      if (isThere) letters.push(letter);
      else missing.push(position);
      bytes += letter?.value.length ?? 0;
    }
    return { letters, missing, more: false };
  }

  async *#unsettled(
    dead: readonly DeadRange[],
    record: DeadLetterRecord,
    from: DeadPosition,
  ): AsyncGenerator<DeadLetter, void, undefined> {
    const { queue } = this.#options;
    const partitions = new Set(dead.map(({ partition }) => partition));
    for (const partition of [...partitions].toSorted((a, b) => a - b)) {
      if (partition < from.partition) continue;
      let offset = partition === from.partition ? from.offset : 0;
      for (;;) {
        offset = nextUnsettled(record.settled.get(partition) ?? [], offset);
        const page = await queue.deadLetters({ partition, offset }, PAGE);
        for (const letter of page) if (!settledIn(record, letter)) yield letter;
        const last = page.at(-1);
        if (last === undefined) break;
        offset = last.offset + 1;
      }
    }
  }

  /** Since the oldest call of the last minutes. */
  #rates({ partitions }: QueueState): QueueReport["rates"] {
    const atMs = this.#options.clock.monotonicMs();
    const now = {
      atMs,
      published: partitions.reduce((sum, { published }) => sum + published, 0),
      done: partitions.reduce((sum, { done }) => sum + done, 0),
    };
    const recent = this.#samples.filter((sample) => atMs - sample.atMs <= RATE_MS_MAX);
    const last = recent.at(-1);
    // One sample a second at most, so their number is bounded.
    const isNew = last === undefined || atMs - last.atMs >= RATE_MS_MIN;
    this.#samples = isNew ? [...recent, now] : recent;
    const [first] = recent;
    if (first === undefined || atMs - first.atMs < RATE_MS_MIN) return undefined;
    const overMs = atMs - first.atMs;
    const perSecond = (more: number): number => Math.max(0, (more * 1000) / overMs);
    const published = perSecond(now.published - first.published);
    return { published, done: perSecond(now.done - first.done), overMs };
  }
}

const FIRST: DeadPosition = { partition: 0, offset: 0 };

function settledIn({ settled }: DeadLetterRecord, { partition, offset }: DeadPosition): boolean {
  return isSettled(settled.get(partition) ?? [], offset);
}

function byPartition(
  letters: readonly DeadLetter[],
  dead: readonly DeadRange[],
): readonly SettledLetters[] {
  const partitions = new Set(letters.map(({ partition }) => partition));
  return [...partitions].map((partition) => {
    const starts = dead.filter((range) => range.partition === partition).map(({ from }) => from);
    const ours = letters.filter((letter) => letter.partition === partition);
    const first = Math.min(...starts, ...ours.map(({ offset }) => offset));
    return { partition, offsets: ours.map(({ offset }) => offset), first };
  });
}

/** A position as text, for example "0:17". */
export function positionText({ partition, offset }: DeadPosition): string {
  return `${partition}:${offset}`;
}

/** Undefined if it is not one. */
export function positionOf(text: string): DeadPosition | undefined {
  const [, partition, offset] = /^(\d{1,9}):(\d{1,15})$/.exec(text) ?? [];
  if (partition === undefined || offset === undefined) return undefined;
  return { partition: Number(partition), offset: Number(offset) };
}
