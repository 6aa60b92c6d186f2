/**
 * Cuts a stream of frames into blocks, newest first, each bound to the previous one (rule C9).
 *
 * Runs that fit are added unchanged. Only where a block is full are frames walked, by their
 * lengths, and only the events on both sides of a cut are parsed.
 */
import { assert } from "../lib/errors.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { StoredBlock } from "../ports/event-store.ts";
import { eventOfFrame, positionOf } from "../wire/frames.ts";
import type { Position, Run } from "../wire/frames.ts";
import { BLOCK_BYTES_TARGET, bindingOf, encodeBlock, frameEnd } from "../wire/packed-block.ts";
import type { BlockContext } from "../wire/packed-block.ts";

/** Gets each finished block, and the `count` frames in it as they lie there. */
export type TakeBlock = (block: StoredBlock, frames: Uint8Array, count: number) => void;

export class BlockBuilder {
  readonly #context: BlockContext;
  readonly #take: TakeBlock;
  readonly #frameBytesMax: number;
  /** The frames of the block being filled. */
  #frames: Uint8Array[] = [];
  #bytes = 0;
  #events = 0;
  #first: Position | undefined;
  #last: Position | undefined;
  /** `last` of the previous finished block. */
  #before: Position | undefined;
  /** Of finished blocks. */
  count = 0;
  bytesMax = 0;

  /** `part`: in the split table. No block has more bytes of frames, except one of a single event. */
  constructor(
    part: PartitionKey,
    generation: number,
    take: TakeBlock,
    frameBytesMax: number = BLOCK_BYTES_TARGET,
  ) {
    this.#context = { binding: bindingOf(part), generation, part: part.eventBucket };
    this.#take = take;
    this.#frameBytesMax = frameBytesMax;
  }

  add(run: Run): void {
    if (this.#bytes + run.bytes <= this.#frameBytesMax) {
      for (const chunk of run.chunks) this.#push(chunk);
      this.#events += run.count;
      this.#first ??= run.first;
    } else {
      this.#cut(run);
    }
    this.#last = run.last;
  }

  /** Finishes the block being filled, if there is one. */
  flush(): void {
    const [first, last] = [this.#first, this.#last];
    if (first === undefined || last === undefined) return;
    const fields = { sequence: this.count, count: this.#events, first, last, before: this.#before };
    const bytes = encodeBlock(this.#context, fields, this.#frames);
    this.#take({ key: last, bytes }, bytes.subarray(bytes.length - this.#bytes), this.#events);
    this.count++;
    this.bytesMax = Math.max(this.bytesMax, bytes.length);
    this.#before = last;
    this.#frames = [];
    this.#bytes = 0;
    this.#events = 0;
    this.#first = undefined;
  }

  /**
   * Adds a run frame by frame, and finishes a block wherever the next frame would exceed its size.
   */
  #cut(run: Run): void {
    this.#first ??= run.first;
    let events = 0;
    // The previous frame.
    let lastChunk = run.chunks[0] as Uint8Array;
    let lastAt = 0;
    for (const chunk of run.chunks) {
      let start = 0;
      for (let at = 0; at < chunk.length;) {
        const end = frameEnd(chunk, at, chunk.length);
        assert(end > 0, "a run holds whole frames");
        const bytes = this.#bytes + (at - start);
        if (bytes > 0 && bytes + (end - at) > this.#frameBytesMax) {
          if (at > start) this.#push(chunk.subarray(start, at));
          // A block that an earlier run began, and to which this run adds nothing, has its last
          // already.
          if (events > 0) this.#last = positionAt(lastChunk, lastAt);
          this.flush();
          this.#first = events > 0 ? positionAt(chunk, at) : run.first;
          start = at;
        }
        events++;
        this.#events++;
        lastChunk = chunk;
        lastAt = at;
        at = end;
      }
      this.#push(start === 0 ? chunk : chunk.subarray(start));
    }
    assert(events === run.count, "a run has as many events as it says");
  }

  #push(frames: Uint8Array): void {
    this.#frames.push(frames);
    this.#bytes += frames.length;
  }
}

function positionAt(chunk: Uint8Array, at: number): Position {
  const event = eventOfFrame(chunk, at);
  assert(event !== undefined, "a run holds whole frames");
  return positionOf(event);
}
