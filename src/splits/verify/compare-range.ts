/** Compares a range of an original with its copy, event by event, and says what differs. */
import { formatCount, quantity } from "../../lib/quantity.ts";
import type { Difference, SplitLocation } from "../use-cases.ts";
import type { EventCursor } from "./event-cursor.ts";
import { comparePlain, Damage } from "./plain-decoder.ts";
import type { PlainEvent } from "./plain-decoder.ts";

/** How many differences are kept with all they say; the others are counted. */
export const DIFFERENCES_KEPT = 100;

export const DAMAGED_ORIGINAL = "damaged original";

export interface Compared {
  /** Of the original. */
  readonly events: number;
  readonly bytes: number;
  /** The first of them. */
  readonly differences: readonly Difference[];
  readonly differencesFound: number;
}

/** `location` and `from` say where it is, in case there is no event to name. Closes both. */
export async function compareRange(
  original: EventCursor,
  split: EventCursor,
  location: SplitLocation,
  from: number,
): Promise<Compared> {
  const findings = new Findings(location);
  const sides = [new Side("original", original), new Side("split", split)] as const;
  try {
    await compare(sides, findings);
  } catch (error) {
    if (!(error instanceof SideDamage)) throw error;
    // What lies behind it cannot be distinguished from what is missing.
    findings.add(
      `damaged ${error.side}`,
      { time: error.last?.time ?? from, id: error.last?.id },
      error.message,
    );
  } finally {
    for (const side of sides) await side.cursor.close();
  }
  return findings.compared();
}

/** What is found where there is no split to compare with. */
export function damagedSplit(location: SplitLocation, from: number, detail: string): Compared {
  const findings = new Findings(location);
  findings.add("damaged split", { time: from, id: undefined }, detail);
  return findings.compared();
}

async function compare(
  [original, split]: readonly [Side, Side],
  findings: Findings,
): Promise<void> {
  for (;;) {
    if (original.cursor.isEmpty) await original.fill();
    if (split.cursor.isEmpty) await split.fill();
    const a = original.cursor.current;
    const b = split.cursor.current;
    if (a === undefined && b === undefined) return;
    const order = a === undefined ? 1 : b === undefined ? -1 : comparePlain(b, a);
    if (a !== undefined && order <= 0) {
      findings.count(a);
      if (order < 0) findings.add("only in original", a, quantity(a.bytes.length, "byte"));
      original.next(a, findings);
    }
    if (b !== undefined && order >= 0) {
      if (order > 0) findings.add("only in split", b, quantity(b.bytes.length, "byte"));
      else if (a !== undefined && !a.bytes.equals(b.bytes)) {
        findings.add("other bytes", b, whereBytesDiffer(a, b));
      }
      split.next(b, findings);
    }
  }
}

class SideDamage extends Error {
  readonly side: string;
  readonly last: PlainEvent | undefined;

  constructor(side: string, last: PlainEvent | undefined, damage: Damage) {
    super(damage.message, { cause: damage });
    this.side = side;
    this.last = last;
  }
}

/** One of the two, and the order of its events. */
class Side {
  readonly name: string;
  readonly cursor: EventCursor;
  #last: PlainEvent | undefined;

  constructor(name: string, cursor: EventCursor) {
    this.name = name;
    this.cursor = cursor;
  }

  async fill(): Promise<void> {
    try {
      await this.cursor.fill();
    } catch (error) {
      if (error instanceof Damage) throw new SideDamage(this.name, this.#last, error);
      throw error;
    }
  }

  next(event: PlainEvent, findings: Findings): void {
    const last = this.#last;
    if (last !== undefined && comparePlain(event, last) >= 0) {
      findings.add("out of order", event, `in the ${this.name}: not older than the one before it`);
    }
    this.#last = event;
    this.cursor.advance();
  }
}

class Findings {
  readonly #location: SplitLocation;
  readonly #differences: Difference[] = [];
  #found = 0;
  #events = 0;
  #bytes = 0;

  constructor(location: SplitLocation) {
    this.#location = location;
  }

  count(event: PlainEvent): void {
    this.#events++;
    this.#bytes += event.frameBytes;
  }

  add(
    kind: string,
    at: { readonly time: number; readonly id: Buffer | undefined },
    detail: string,
  ): void {
    this.#found++;
    if (this.#differences.length >= DIFFERENCES_KEPT) return;
    const eventId = at.id?.toString("utf8") ?? "";
    this.#differences.push({ location: this.#location, kind, eventTime: at.time, eventId, detail });
  }

  compared(): Compared {
    return {
      events: this.#events,
      bytes: this.#bytes,
      differences: this.#differences,
      differencesFound: this.#found,
    };
  }
}

function whereBytesDiffer(original: PlainEvent, split: PlainEvent): string {
  const [a, b] = [original.bytes, split.bytes];
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  return `${quantity(a.length, "byte")} in the original, ${formatCount(b.length)} in the split, equal up to byte ${at}`;
}
