/**
 * The work that every peer does, as messages between the bench and the process of a peer's caller.
 *
 * Each peer reads and writes the same events; `check` proves that it decoded all of them.
 */
import type { BenchEvent } from "../support/events.ts";

/** The series that reads take events from: `events` of them, spread evenly over [start, end). */
export interface Series {
  readonly id: string;
  readonly start: number;
  readonly end: number;
  readonly events: number;
}

/** How Braid stores what is read; the other peers have one way only. */
export type Stored = "rows" | "packed";

export type Work =
  /** Writes the series that is read later. */
  | { readonly kind: "load"; readonly stored: Stored }
  /** Batches of current events, each durable before it is answered. */
  | {
      readonly kind: "ingest";
      readonly round: number;
      readonly events: number;
      readonly ids: number;
      readonly width: number;
    }
  /** The whole series, in the way that is fastest for it. */
  | { readonly kind: "stream"; readonly stored: Stored }
  /** Page after page, from a random position. */
  | ({ readonly kind: "walk"; readonly stored: Stored } & Pages)
  /** Pages from random positions, `width` at a time. */
  | ({ readonly kind: "pages"; readonly stored: Stored; readonly width: number } & Pages);

interface Pages {
  /** Chooses the positions: the same for every peer. */
  readonly seed: number;
  readonly pageEvents: number;
  readonly pages: number;
}

export interface Done {
  readonly seconds: number;
  /** Processor time of the caller. */
  readonly callerSeconds: number;
  readonly events: number;
  readonly check: number;
  /** Of each page, in milliseconds. */
  readonly times: readonly number[];
}

/** Takes every event that a peer has read and decoded. */
export class Tally {
  events = 0;
  check = 0;

  add(time: number, id: string, payload: Uint8Array): void {
    this.events++;
    const digest = time + id.length + payload.length + (payload[payload.length - 1] ?? 0);
    this.check = (this.check + digest) % 0x1_0000_0000;
  }
}

/** A caller of one peer. `Batch` is a batch as its library takes it. */
export interface PeerCaller<Batch = unknown> {
  /** Outside of the measured time, as far as the library allows. */
  batchOf(events: readonly BenchEvent[]): Batch;
  /** Resolves when it is durable. `worker` is below the width of the work. */
  write(batch: Batch, worker: number): Promise<void>;
  load(stored: Stored, events: readonly BenchEvent[], worker: number): Promise<void>;
  /** Called once, after the last `load`. */
  loaded(): Promise<void>;
  stream(stored: Stored, series: Series, tally: Tally): Promise<void>;
  walk(
    stored: Stored,
    series: Series,
    { pageEvents, pages }: { pageEvents: number; pages: number },
    tally: Tally,
  ): Promise<void>;
  page(
    stored: Stored,
    series: Series,
    { pageEvents, worker }: { pageEvents: number; worker: number },
    tally: Tally,
  ): Promise<void>;
}
