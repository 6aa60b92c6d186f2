/**
 * What the callers of a world did and were answered, in order. Shares no code with the system.
 */

/** An event as its writer knows it. */
export interface SimEvent {
  readonly series: string;
  /** Microseconds. */
  readonly time: number;
  readonly id: string;
  /** The value of its one item. */
  readonly value: Uint8Array;
}

export type Outcome =
  /** The answer promises it. */
  | "acknowledged"
  /** The answer says that it is not stored. */
  | "refused"
  /** No answer, or one that promises nothing. */
  | "unknown";

/** A number for each moment: a later one is greater. */
export type Moment = number;

export interface WriteBegun {
  readonly kind: "write begun";
  readonly at: Moment;
  readonly write: number;
  readonly atMs: number;
  readonly server: string;
  /** What the name stood for: a namespace that is made again under its name is another. */
  readonly namespace: string;
  readonly events: readonly SimEvent[];
}

export interface WriteEnded {
  readonly kind: "write ended";
  readonly at: Moment;
  readonly write: number;
  readonly atMs: number;
  /** By event. */
  readonly outcomes: readonly Outcome[];
}

export interface ReadAsked {
  readonly namespace: string;
  readonly series: string;
  readonly start: number;
  readonly end: number;
  readonly newestFirst: boolean;
  /** Only events whose item has this value. */
  readonly filter?: Uint8Array | undefined;
  /** Over all pages; 0: none. */
  readonly limit: number;
  /** The read may miss acknowledged events: its namespace is eventual and nothing was repaired. */
  readonly mayMiss: boolean;
}

export interface ReadBegun extends ReadAsked {
  readonly kind: "read begun";
  readonly at: Moment;
  readonly read: number;
  readonly atMs: number;
  readonly server: string;
}

export interface ReadEnded {
  readonly kind: "read ended";
  readonly at: Moment;
  readonly read: number;
  readonly atMs: number;
  /** What came, page by page; undefined: the read failed, or it is judged. */
  readonly answer: readonly Uint8Array[] | undefined;
  /** How each partition was read, in words. */
  readonly routes: readonly string[];
  /** Events before this time may have left by retention. */
  readonly keptFrom: number;
}

export interface Happened {
  readonly kind: "happened";
  readonly at: Moment;
  readonly atMs: number;
  readonly what: string;
}

export type HistoryEntry = WriteBegun | WriteEnded | ReadBegun | ReadEnded | Happened;

export class History {
  readonly entries: HistoryEntry[] = [];
  readonly #nowMs: () => number;
  /** Called with each entry, in order. */
  onEntry: (entry: HistoryEntry) => void = () => undefined;
  #last = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  writeBegins(server: string, namespace: string, events: readonly SimEvent[]): number {
    const write = this.#next();
    this.#add({ kind: "write begun", at: write, write, server, namespace, events });
    return write;
  }

  writeEnds(write: number, outcomes: readonly Outcome[]): void {
    this.#add({ kind: "write ended", at: this.#next(), write, outcomes });
  }

  readBegins(server: string, asked: ReadAsked): number {
    const read = this.#next();
    this.#add({ kind: "read begun", at: read, read, server, ...asked });
    return read;
  }

  readEnds(read: number, ended: Pick<ReadEnded, "answer" | "routes" | "keptFrom">): void {
    this.#add({ kind: "read ended", at: this.#next(), read, ...ended });
  }

  happened(what: string): void {
    this.#add({ kind: "happened", at: this.#next(), what });
  }

  #next(): Moment {
    return ++this.#last;
  }

  #add(entry: WithoutTime<HistoryEntry>): void {
    // The union loses its kinds in the spread.
    const timed = { ...entry, atMs: this.#nowMs() } as HistoryEntry;
    this.onEntry(timed);
    // Judged, an answer is not needed any more, and answers are most of a world's memory.
    this.entries.push(timed.kind === "read ended" ? { ...timed, answer: undefined } : timed);
  }
}

type WithoutTime<T> = T extends unknown ? Omit<T, "atMs"> : never;
