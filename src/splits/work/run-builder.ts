/** Collects consecutive events of a run into a run of their own, without copying their bytes. */
import type { EventBytes } from "../../wire/event-record.ts";
import { eventOfFrame, positionOf } from "../../wire/frames.ts";
import type { Run } from "../../wire/frames.ts";
import { assert } from "../../lib/errors.ts";

export class RunBuilder {
  #chunks: Uint8Array[] = [];
  #chunk: Uint8Array | undefined;
  #start = 0;
  #end = 0;
  #first: EventBytes | undefined;
  #last: EventBytes | undefined;
  #bytes = 0;
  #count = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#count;
  }

  /** Adds the event whose frame is `chunk[start..event.end)`. */
  add(chunk: Uint8Array, start: number, event: EventBytes): void {
    if (chunk !== this.#chunk || start !== this.#end) {
      this.#endSpan();
      this.#chunk = chunk;
      this.#start = start;
    }
    this.#end = event.end;
    this.#first ??= event;
    this.#last = event;
    this.#bytes += event.end - start;
    this.#count++;
  }

  /** The events added since the last call, or undefined if there are none. */
  take(): Run | undefined {
    this.#endSpan();
    if (this.#first === undefined || this.#last === undefined) return undefined;
    const run = {
      chunks: this.#chunks,
      count: this.#count,
      bytes: this.#bytes,
      first: positionOf(this.#first),
      last: positionOf(this.#last),
    };
    this.#chunks = [];
    this.#first = undefined;
    this.#last = undefined;
    this.#bytes = 0;
    this.#count = 0;
    return run;
  }

  #endSpan(): void {
    const chunk = this.#chunk;
    if (chunk === undefined) return;
    const whole = this.#start === 0 && this.#end === chunk.length;
    this.#chunks.push(whole ? chunk : chunk.subarray(this.#start, this.#end));
    this.#chunk = undefined;
  }
}

/** Every event of a run, with its frame's chunk and start. */
export function* framesOf(
  run: Run,
): Generator<{ chunk: Uint8Array; start: number; event: EventBytes }, void, undefined> {
  for (const chunk of run.chunks) {
    for (let start = 0; start < chunk.length;) {
      const event = eventOfFrame(chunk, start);
      assert(event !== undefined, "a run holds whole frames");
      yield { chunk, start, event };
      start = event.end;
    }
  }
}
