/**
 * Messages from whoever notices something to whoever acts on it. Today: detections of wide partitions.
 *
 * The queue is a hint (rule C16): a message may be lost (see `publish`) and may come more than once
 * (see `consume`). Whoever publishes must be able to notice the same thing again, and whoever consumes
 * must be able to do the same thing twice. Every queue passes the suite in
 * `tests/conformance/work-queue.ts`.
 */
export interface QueueMessage {
  /** Messages of one key are handled in the order in which they were published. */
  readonly key: string;
  /** The queue does not look into it. */
  readonly value: Uint8Array;
}

export type PublishOutcome = "accepted" | "dropped";

/** What a handler has made of a message. Either way the queue goes on behind it. */
export type Handled =
  | { readonly kind: "done" }
  /** It can never be handled: kept with the dead letters, with the reason. */
  | { readonly kind: "malformed"; readonly why: string };

/** Resolves when what the message asks for is durable. If it rejects, the message comes again. */
export type MessageHandler = (message: QueueMessage, signal: AbortSignal) => Promise<Handled>;

export interface WorkQueue {
  /**
   * Returns at once and never throws. What is accepted is held in this process, in a buffer bounded in
   * messages and bytes, until the queue has it. It is lost if the process dies before, if the queue
   * refuses it, or if it cannot be handed over while closing; the observer counts the last two. What does
   * not fit is dropped.
   */
  publish(message: QueueMessage): PublishOutcome;

  /**
   * Hands messages to the handler until the signal aborts, then waits for the handlers under way, which are
   * to heed it. Never rejects: what fails is tried again, with a bounded pause between. One at a time for
   * each queue object; it may be called again when it has resolved.
   *
   * A message counts as done only after its handler has resolved, so each is handled at least once, and
   * again after a crash, a stop in the middle or a change among the consumers. When a handler rejects it is
   * called again with the same message, and nothing behind it in the same part of the queue (its key among
   * it) is handled before.
   */
  consume(handler: MessageHandler, signal: AbortSignal): Promise<void>;

  /**
   * Messages that wait to be handled, as far as this process knows: those of the parts of the queue that
   * it consumes; 0 where it consumes none. May be some seconds old.
   */
  lag(): number;

  /** Accepts no more, and gives what is buffered a bounded time to be handed over. Repeating it does nothing. */
  close(): Promise<void>;
}

export type DropReason = "full" | "too_large" | "refused" | "closed";

/** Whom a queue tells, for counts and the log. Must return at once. */
export interface QueueObserver {
  /** Messages that nobody will handle. */
  dropped?(why: DropReason, messages: number): void;
  /** A handler has rejected; its message comes again. */
  retried?(failures: number, error: unknown): void;
  deadLettered?(why: string): void;
  /** The queue cannot do its work just now; it goes on trying by itself. */
  trouble?(what: string, error: unknown): void;
}
