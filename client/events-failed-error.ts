/** What a write throws when the server took the request but not every event of it. */
import { BraidError } from "./braid-error.ts";
import type { EventFailure } from "./messages.ts";

/** `code` is `EVENTS_FAILED`; each failure has the server's code (`EVENT_TOO_OLD`, `ID_BLOCKED`, …). */
export class EventsFailedError extends BraidError {
  /** By `index`, the event's place in the batch. Every other event was taken. */
  readonly failures: readonly EventFailure[];
  /** How many events the server took: durable, or queued if the write was. */
  readonly written: number;

  constructor(failures: readonly EventFailure[], written: number) {
    const unknown = failures.some(({ code }) => code === "OUTCOME_UNKNOWN");
    super("EVENTS_FAILED", describe(failures, written), {
      outcome: unknown ? "unknown" : "failed",
      details: { failures, written },
    });
    this.name = "EventsFailedError";
    this.failures = failures;
    this.written = written;
  }
}

function describe(failures: readonly EventFailure[], written: number): string {
  const counts = new Map<string, number>();
  for (const { code } of failures) counts.set(code, (counts.get(code) ?? 0) + 1);
  const codes = [...counts].map(([code, count]) => `${count} ${code}`).join(", ");
  const [first] = failures;
  const example = first === undefined ? "" : `; event ${first.index}: ${first.message}`;
  return `${failures.length} of ${failures.length + written} events failed (${codes})${example}`;
}
