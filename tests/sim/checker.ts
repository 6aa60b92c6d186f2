/**
 * Judges a recorded history of writes and reads. It shares no code with the system: it decodes
 * answers itself, from the wire format.
 *
 * Knows these problems of a read: an acknowledged event is lost, an event is altered, duplicated,
 * reordered or a phantom (nobody wrote it, its writer was refused, or the read did not ask for it).
 * At the end, a write or read without an answer is stuck.
 */
import type { HistoryEntry, ReadBegun, ReadEnded, SimEvent, WriteBegun } from "./history.ts";

export type ProblemKind =
  "LOST" | "ALTERED" | "DUPLICATED" | "REORDERED" | "PHANTOM" | "UNREADABLE" | "STUCK";

export interface Problem {
  readonly kind: ProblemKind;
  /** For people: one sentence. */
  readonly what: string;
  /** The event that it is about. */
  readonly event?: Known;
  readonly read?: ReadBegun;
}

/** What the checker knows about an event of a writer. */
export interface Known extends SimEvent {
  readonly namespace: string;
  readonly idBytes: Buffer;
  /** The moment of its acknowledgement; undefined: none so far. */
  acknowledged: number | undefined;
  /** Its writes, by their moments. */
  readonly writes: number[];
  /** How many of them were not refused. */
  possible: number;
  /** Its bytes in an answer, once one was decoded and found right. */
  frame: Buffer | undefined;
}

export class Checker {
  /** By namespace and series; each in order. */
  readonly #series = new Map<string, Known[]>();
  readonly #writes = new Map<number, { readonly begun: WriteBegun; readonly known: Known[] }>();
  readonly #reads = new Map<number, ReadBegun>();
  acknowledged = 0;
  /** Ended, with an answer. */
  reads = 0;

  /** The problem that the entry shows, if any. */
  add(entry: HistoryEntry): Problem | undefined {
    switch (entry.kind) {
      case "write begun":
        return this.#writeBegun(entry);
      case "write ended":
        return this.#writeEnded(entry.write, entry.at, entry.outcomes);
      case "read begun":
        this.#reads.set(entry.read, entry);
        return undefined;
      case "read ended":
        return this.#readEnded(entry);
      case "happened":
        return undefined;
    }
  }

  /** The first operation without an end that began before a time. */
  stuck(beforeMs: number): Problem | undefined {
    for (const read of this.#reads.values()) {
      if (read.atMs >= beforeMs) continue;
      const what = `a read of ${read.series} at ${read.server} has no answer`;
      return { kind: "STUCK", what, read };
    }
    for (const { begun } of this.#writes.values()) {
      if (begun.atMs >= beforeMs) continue;
      return { kind: "STUCK", what: `a write at ${begun.server} has no answer` };
    }
    return undefined;
  }

  #writeBegun(begun: WriteBegun): undefined {
    const known = begun.events.map((event) => this.#know(begun.namespace, event));
    for (const each of known) {
      each.writes.push(begun.write);
      each.possible++;
    }
    this.#writes.set(begun.write, { begun, known });
  }

  #know(namespace: string, event: SimEvent): Known {
    const series = this.#seriesOf(namespace, event.series);
    const idBytes = Buffer.from(event.id, "utf8");
    const at = firstNotBefore(series, event.time, idBytes);
    const there = series[at];
    if (there?.time === event.time && there.idBytes.equals(idBytes)) return there;
    const known = {
      ...event,
      namespace,
      idBytes,
      acknowledged: undefined,
      writes: [],
      possible: 0,
      frame: undefined,
    };
    series.splice(at, 0, known);
    return known;
  }

  #seriesOf(namespace: string, name: string): Known[] {
    const key = `${namespace} ${name}`;
    const series = this.#series.get(key) ?? [];
    this.#series.set(key, series);
    return series;
  }

  #writeEnded(
    write: number,
    at: number,
    outcomes: readonly ("acknowledged" | "refused" | "unknown")[],
  ): undefined {
    const { known = [] } = this.#writes.get(write) ?? {};
    this.#writes.delete(write);
    known.forEach((event, nth) => {
      if (outcomes[nth] === "refused") event.possible--;
      if (outcomes[nth] !== "acknowledged" || event.acknowledged !== undefined) return;
      event.acknowledged = at;
      this.acknowledged++;
    });
  }

  #readEnded({ read, answer, keptFrom }: ReadEnded): Problem | undefined {
    const asked = this.#reads.get(read);
    this.#reads.delete(read);
    if (asked === undefined || answer === undefined) return undefined;
    this.reads++;
    const problem = this.#problemOf(asked, answer, keptFrom);
    return problem === undefined ? undefined : { ...problem, read: asked };
  }

  #problemOf(
    asked: ReadBegun,
    answer: readonly Uint8Array[],
    keptFrom: number,
  ): Problem | undefined {
    const series = this.#seriesOf(asked.namespace, asked.series);
    const step = asked.newestFirst ? -1 : 1;
    const none = Buffer.alloc(0);
    const [from, to] = [asked.start, asked.end].map((time) => firstNotBefore(series, time, none));
    const [first = 0, behind = 0] = [from, to];
    // The answer and what may be in it, side by side, in the order of the answer.
    let at = asked.newestFirst ? behind - 1 : first;
    const isIn = (): boolean => at >= first && at < behind;
    let came = 0;
    let before: Place | undefined;
    for (const chunk of answer) {
      for (let offset = 0; offset < chunk.length;) {
        const next = isIn() ? series[at] : undefined;
        if (next?.frame !== undefined && asked.filter === undefined && asked.limit === 0) {
          // The same bytes as in an answer that was right.
          const end = offset + next.frame.length;
          const fits = end <= chunk.length && next.possible > 0;
          if (fits && next.frame.compare(chunk, offset, end) === 0) {
            before = next;
            offset = end;
            at += step;
            continue;
          }
        }
        const returned = decodeFrame(chunk, offset);
        if (returned === undefined) return { kind: "UNREADABLE", what: "the answer is no frames" };
        const frame = chunk.subarray(offset, returned.end);
        offset = returned.end;
        came++;
        const text = `event ${returned.id.toString("utf8")} of time ${returned.time}`;
        if (before !== undefined) {
          const order = compareAt(returned, before) * step;
          if (order === 0) return { kind: "DUPLICATED", what: `${text} came twice` };
          if (order < 0) return { kind: "REORDERED", what: `${text} came after a later one` };
        }
        before = returned;
        while (isIn() && compareAt(series[at] as Known, returned) * step < 0) {
          const lost = missed(series[at] as Known, asked, keptFrom);
          if (lost !== undefined) return lost;
          at += step;
        }
        const known = series[at];
        const same = known !== undefined && compareAt(known, returned) === 0;
        if (!isIn() || !same || known.possible === 0 || returned.series !== asked.series) {
          return phantom(text, asked, returned, same ? known : undefined);
        }
        if (!returned.value.equals(known.value)) {
          return {
            kind: "ALTERED",
            what: `${text} has other bytes than were written`,
            event: known,
          };
        }
        if (!passes(known, asked)) {
          return { kind: "PHANTOM", what: `${text} does not match the filter`, event: known };
        }
        known.frame ??= Buffer.from(frame);
        at += step;
        if (asked.limit > 0 && came > asked.limit) {
          return { kind: "PHANTOM", what: `${text} is beyond the limit of ${asked.limit}` };
        }
      }
    }
    if (asked.limit > 0 && came === asked.limit) return undefined;
    for (; isIn(); at += step) {
      const lost = missed(series[at] as Known, asked, keptFrom);
      if (lost !== undefined) return lost;
    }
    return undefined;
  }
}

function missed(event: Known, asked: ReadBegun, keptFrom: number): Problem | undefined {
  const { acknowledged } = event;
  if (asked.mayMiss || acknowledged === undefined || acknowledged > asked.at) return undefined;
  if (event.time < keptFrom || !passes(event, asked)) return undefined;
  const what = `event ${event.id} of time ${event.time} was acknowledged before the read and is missing`;
  return { kind: "LOST", what, event };
}

function passes(event: Known, { filter }: ReadBegun): boolean {
  return filter === undefined || Buffer.compare(filter, event.value) === 0;
}

function phantom(
  text: string,
  asked: ReadBegun,
  returned: Returned,
  known: Known | undefined,
): Problem {
  const inRange = returned.time >= asked.start && returned.time < asked.end;
  if (!inRange) return { kind: "PHANTOM", what: `${text} was not asked for` };
  if (returned.series !== asked.series) {
    return { kind: "PHANTOM", what: `${text} belongs to ${returned.series}` };
  }
  if (known === undefined) return { kind: "PHANTOM", what: `nobody wrote ${text}` };
  return { kind: "PHANTOM", what: `the writer of ${text} was refused`, event: known };
}

interface Place {
  readonly time: number;
  readonly id?: unknown;
  readonly idBytes: Buffer;
}

function compareAt(a: Place, b: Place): number {
  return a.time - b.time || Buffer.compare(a.idBytes, b.idBytes);
}

function firstNotBefore(series: readonly Known[], time: number, idBytes: Buffer): number {
  let low = 0;
  let high = series.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareAt(series[middle] as Known, { time, idBytes }) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** An event as an answer has it. */
interface Returned {
  readonly series: string;
  readonly time: number;
  readonly id: Buffer;
  readonly idBytes: Buffer;
  readonly value: Buffer;
  readonly end: number;
}

/**
 * One frame: field 1 of an answer, which holds an event: 1 series, 2 time (1 seconds, 2 nanos),
 * 3 id, 4 item (1 key, 2 value). Undefined if it is anything else.
 */
function decodeFrame(chunk: Uint8Array, start: number): Returned | undefined {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const scan = new FieldScan(bytes, start, bytes.length);
  if (!scan.next() || scan.number !== 1 || scan.kind !== 2) return undefined;
  const end = scan.end;
  let series = "";
  let time = 0;
  let id: Buffer | undefined;
  let value: Buffer | undefined;
  const event = new FieldScan(bytes, scan.start, scan.end);
  while (event.next()) {
    const { number } = event;
    if (number === 1) series = bytes.toString("utf8", event.start, event.end);
    else if (number === 2) time = decodeTime(bytes, event);
    else if (number === 3) id = bytes.subarray(event.start, event.end);
    else if (number === 4) {
      const item = new FieldScan(bytes, event.start, event.end);
      while (item.next()) if (item.number === 2) value = bytes.subarray(item.start, item.end);
    } else return undefined;
  }
  if (id === undefined || value === undefined || event.broken) return undefined;
  return { series, time, id, idBytes: id, value, end };
}

function decodeTime(bytes: Buffer, { start, end }: FieldScan): number {
  const scan = new FieldScan(bytes, start, end);
  let [seconds, nanos] = [0, 0];
  while (scan.next()) {
    if (scan.number === 1) seconds = scan.value;
    if (scan.number === 2) nanos = scan.value;
  }
  return seconds * 1_000_000 + nanos / 1_000;
}

/** The fields of a protobuf message, one after another. */
class FieldScan {
  readonly #bytes: Buffer;
  readonly #limit: number;
  #at: number;
  number = 0;
  kind = 0;
  value = 0;
  start = 0;
  end = 0;
  broken = false;

  constructor(bytes: Buffer, start: number, limit: number) {
    this.#bytes = bytes;
    this.#at = start;
    this.#limit = limit;
  }

  next(): boolean {
    if (this.broken || this.#at >= this.#limit) return false;
    const tag = this.#varint();
    this.number = Math.floor(tag / 8);
    this.kind = tag % 8;
    this.value = this.#varint();
    this.start = this.#at;
    if (this.kind === 2) this.#at += this.value;
    else if (this.kind !== 0) this.broken = true;
    this.end = this.#at;
    if (this.end > this.#limit) this.broken = true;
    return !this.broken;
  }

  #varint(): number {
    let value = 0;
    for (let factor = 1; this.#at < this.#limit; factor *= 128) {
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte % 128) * factor;
      if (byte < 128) return value;
    }
    this.broken = true;
    return value;
  }
}
