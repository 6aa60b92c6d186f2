/**
 * The sum of a range of events: their number, their size, and a digest of their frames in order.
 *
 * Stored digests are of the order newest first. How the frames were cut into chunks does not
 * matter: a partition read as rows and its copy read as blocks, in the same order, have the same
 * digest if, and only if, they hold the same events.
 */
import { createHash, hash } from "node:crypto";
import { assert } from "../lib/errors.ts";
import type { Run } from "../wire/frames.ts";
import { frameEnd } from "../wire/packed-block.ts";

/** Hexadecimal digits that are kept of a SHA-256: 128 bits. */
const DIGITS = 32;

export interface RangeSum {
  readonly events: number;
  /** Of the frames. */
  readonly bytes: number;
  readonly digest: string;
}

export class RangeDigest {
  readonly #hash = createHash("sha256");
  #events = 0;
  #bytes = 0;

  get events(): number {
    return this.#events;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whole frames, behind all before; they are counted unless the number is given. */
  add(chunk: Uint8Array, events: number = countFrames(chunk)): void {
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
    this.#events += events;
  }

  addRun(run: Run): void {
    for (const chunk of run.chunks) this.add(chunk, 0);
    this.#events += run.count;
  }

  /** Of everything added so far; more may follow. */
  digest(): string {
    return this.#hash.copy().digest("hex").slice(0, DIGITS);
  }

  sum(): RangeSum {
    return { events: this.#events, bytes: this.#bytes, digest: this.digest() };
  }
}

/** The checksum of a segment: over its parts, in order. It depends on where the parts were cut. */
export function combineDigests(parts: readonly RangeSum[]): string {
  const lines = parts.map(({ digest, bytes, events }) => `${digest} ${bytes} ${events}\n`);
  return hash("sha256", lines.join(""), "hex").slice(0, DIGITS);
}

function countFrames(chunk: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < chunk.length; count++) {
    at = frameEnd(chunk, at, chunk.length);
    assert(at > 0, "a chunk holds whole frames");
  }
  return count;
}
