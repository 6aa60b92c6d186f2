/**
 * Carries messages from producers to consumers. Today these are detections of wide partitions.
 *
 * The queue is a hint (rule C16): a message may be lost (see `publish`) and may come more than once
 * (see `consume`). A producer must be able to notice the same thing again, and a consumer must be
 * able to do the same thing twice. Every queue passes the suite in
 * `tests/conformance/work-queue.ts`.
 */
export interface QueueMessage {
  /** Messages of one key are handled in the order in which they were published. */
  readonly key: string;
  /** The queue does not interpret it. */
  readonly value: Uint8Array;
}

export type PublishOutcome = "accepted" | "dropped";

/** The result of a handler. Either way the queue continues behind the message. */
export type Handled =
  | { readonly kind: "done" }
  /** It can never be handled: the queue keeps it with the dead letters and the reason. */
  | { readonly kind: "malformed"; readonly why: string };

/** Resolves when the effect of the message is durable. If it rejects, the message comes again. */
export type MessageHandler = (message: QueueMessage, signal: AbortSignal) => Promise<Handled>;

/** One partition of the queue. */
export interface QueuePartition {
  readonly topic: string;
  readonly partition: number;
  /** Messages so far, counted from any number: only differences of two calls mean anything. */
  readonly published: number;
  readonly done: number;
  readonly waiting: number;
  /** When the first waiting message was published, microseconds; undefined if none waits. */
  readonly oldestAt: number | undefined;
}

/** Where a dead letter lies. It never moves. */
export interface DeadPosition {
  readonly partition: number;
  readonly offset: number;
}

/** Positions in [from, to) of one partition of the dead letters. */
export interface DeadRange {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** A message that no handler could handle. */
export interface DeadLetter extends QueueMessage, DeadPosition {
  /** For people. */
  readonly why: string;
  /** When it became one, microseconds. */
  readonly at: number;
  /** Where it came from, for people; "" if unknown. */
  readonly origin: string;
  /** Of the message as it was; above 0 while `value` is empty: the value was not kept. */
  readonly valueBytes: number;
}

export interface QueueState {
  readonly partitions: readonly QueuePartition[];
  /** Messages that this process is handling now. */
  readonly inFlight: number;
  /** Messages that this process has accepted and the queue does not have yet. */
  readonly buffered: number;
  /** Where there are dead letters: some positions in between may be gone. */
  readonly dead: readonly DeadRange[];
}

export interface WorkQueue {
  /**
   * Returns at once and never throws. This process holds an accepted message, in a buffer bounded
   * in messages and bytes, until the queue has it. The message is lost if the process dies before
   * that, if the queue refuses it, or if it cannot be handed over while closing; the observer
   * counts the last two. A message that does not fit is dropped.
   */
  publish(message: QueueMessage): PublishOutcome;

  /**
   * Passes messages to the handler until the signal aborts, then waits for the handlers under way,
   * which should heed the signal. Never rejects: failures are retried with a bounded pause. One
   * call at a time for each queue object; it may be called again when it has resolved.
   *
   * A message is done only after its handler has resolved, so each is handled at least once, and
   * again after a crash, a stop in the middle or a change of consumers. When a handler rejects, the
   * queue calls it again with the same message, and handles nothing behind it in the same partition
   * of the queue (including the same key) before that.
   */
  consume(handler: MessageHandler, signal: AbortSignal): Promise<void>;

  /**
   * Messages that wait to be handled, as far as this process knows: those in the partitions of the
   * queue that it consumes; 0 if it consumes none. May be some seconds old.
   */
  lag(): number;

  /** What an operator wants to know. Takes a bounded time; STORAGE_UNAVAILABLE if it fails. */
  state(): Promise<QueueState>;

  /**
   * Dead letters of one partition, at or behind the position, in order: at most `limit`, and a
   * bounded number of bytes, but at least one if there is any. Empty: there are none. Joins nothing
   * and moves nothing. STORAGE_UNAVAILABLE if it fails.
   */
  deadLetters(from: DeadPosition, limit: number): Promise<readonly DeadLetter[]>;

  /**
   * Publishes messages again. Resolves when the queue has them all; if it rejects with
   * STORAGE_UNAVAILABLE or OVERLOADED, it may have some.
   */
  republish(messages: readonly QueueMessage[]): Promise<void>;

  /**
   * Removes dead letters for good. Not there if the queue cannot remove a single one: then the
   * caller remembers which are settled.
   */
  readonly removeDead?: (positions: readonly DeadPosition[]) => void;

  /**
   * Accepts no more messages and allows a bounded time to hand over those in the buffer. Repeating
   * it does nothing.
   */
  close(): Promise<void>;
}

export type DropReason = "full" | "too_large" | "refused" | "closed";

/** Receives what happens in a queue, for counts and the log. Must return at once. */
export interface QueueObserver {
  /** Messages that no consumer will handle. */
  dropped?(why: DropReason, messages: number): void;
  /** A handler has rejected; its message comes again. */
  retried?(failures: number, error: unknown): void;
  deadLettered?(why: string): void;
  /** The queue cannot work at the moment; it keeps trying by itself. */
  trouble?(what: string, error: unknown): void;
}
