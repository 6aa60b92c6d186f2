/**
 * Counts the width of the originals of the current time bucket, across the pages of a read.
 *
 * Of the pages before this reader only the sum is known, from the page token. What this reader has
 * examined is counted as the pages take it.
 */
import type { BucketReader } from "./bucket-reader.ts";
import { partOf, widthShares } from "./width-shares.ts";
import type { Width } from "./width-shares.ts";

/** The fields of a bucket that determine the share of its originals. */
export type MeasuredBucket = Pick<
  BucketReader,
  "sources" | "bytes" | "events" | "originalBytes" | "originalEvents"
>;

export class BucketWidth {
  #beforeBytes: number;
  #beforeEvents: number;
  #examinedBytes = 0;
  #examinedEvents = 0;

  /** `before`: of the originals of the first bucket, from the pages before this reader. */
  constructor(before: Width) {
    this.#beforeBytes = before.bytes;
    this.#beforeEvents = before.events;
  }

  /** A page has examined this much more of the bucket. */
  add(bytes: number, events: number): void {
    this.#examinedBytes += bytes;
    this.#examinedEvents += events;
  }

  /** Whether no event was seen in the bucket. */
  get isEmpty(): boolean {
    return this.#examinedEvents === 0 && this.#beforeEvents === 0;
  }

  /** For each of the bucket's partitions, in their order. */
  sharesOf(bucket: MeasuredBucket): readonly Width[] {
    const before = { bytes: this.#beforeBytes, events: this.#beforeEvents };
    return widthShares(bucket.sources, before, this.#examinedOf(bucket));
  }

  /** Of the whole bucket, for the pages after this one. */
  totalOf(bucket: MeasuredBucket): Width {
    const { bytes, events } = this.#examinedOf(bucket);
    return { bytes: this.#beforeBytes + bytes, events: this.#beforeEvents + events };
  }

  /** The next bucket begins. */
  reset(): void {
    this.#beforeBytes = 0;
    this.#beforeEvents = 0;
    this.#examinedBytes = 0;
    this.#examinedEvents = 0;
  }

  /**
   * What this reader has examined of the bucket's originals. Sources may return more than a page
   * has room for: the examined events are divided between originals and splits in the proportion of
   * what each returned.
   */
  #examinedOf(bucket: MeasuredBucket): Width {
    return {
      bytes: Math.round(partOf(this.#examinedBytes, bucket.originalBytes, bucket.bytes)),
      events: Math.round(partOf(this.#examinedEvents, bucket.originalEvents, bucket.events)),
    };
  }
}
