/**
 * Rules about stored records that hold at every step, whatever happens: each change of the catalog
 * is compared with what was there before. Reads records as JSON, not with the code that wrote them.
 */
import type { CatalogRecord } from "../../src/ports/catalog.ts";

export type Fail = (what: string) => void;

interface Range {
  readonly from: number;
  readonly to: number;
}

interface Segment extends Range {
  readonly state: string;
  readonly epoch: number;
  readonly generation: number;
  readonly partRanges: readonly { readonly start: number; readonly count: number }[];
  readonly confirmedAt: number | null;
}

interface StoredSplit {
  readonly state: string;
  readonly epoch: number;
  readonly fence: number;
  readonly nextPart: number;
  readonly nextGeneration: number;
  readonly segments: readonly Segment[];
}

interface StoredNamespace {
  readonly id: string;
  readonly epoch: number;
  readonly floor: number;
  readonly settled: { readonly epoch: number; readonly floor: number };
  readonly epochStarts: readonly { readonly epoch: number; readonly floor: number }[];
  readonly readMode: { readonly round: number };
  readonly everEventual: boolean;
  readonly config: { readonly consistency: string };
}

interface StoredSlice {
  readonly start: number;
  readonly end: number;
  readonly timePartition: unknown;
  readonly state: string;
}

interface StoredRoute {
  readonly segments: readonly (Range & { readonly generation: number })[];
}

/** From which states of a slice which others may follow. DROPPED is for good (rule C18). */
const SLICE_MOVES: Readonly<Record<string, readonly string[]>> = {
  OPEN: ["OPEN", "CLOSED", "DROPPING", "DROPPED"],
  CLOSED: ["CLOSED", "OPEN", "DROPPING", "DROPPED"],
  DROPPING: ["DROPPING", "CLOSED", "OPEN", "DROPPED"],
  DROPPED: ["DROPPED"],
};

export class Invariants {
  readonly #fail: Fail;
  /** By namespace id, as it was written last. */
  readonly #namespaces = new Map<string, StoredNamespace>();
  /** How many changes were compared. */
  checked = 0;

  constructor(fail: Fail) {
    this.#fail = fail;
  }

  readonly changed = (
    space: string,
    before: CatalogRecord | undefined,
    after: CatalogRecord | undefined,
  ): void => {
    const record = after ?? before;
    const family = space.split("/", 1)[0] ?? "";
    const check = this.#checks[family];
    if (record === undefined || check === undefined) return;
    this.checked++;
    const at = `${space} ${record.key}`;
    const [was, is] = [before, after].map((each) =>
      // Its own code wrote it.
      each === undefined ? undefined : (JSON.parse(each.value) as unknown),
    );
    check(at, was, is);
  };

  readonly #checks: Readonly<Record<string, (at: string, was: unknown, is: unknown) => void>> = {
    // Each space holds one kind of record.
    namespaces: (at, was, is) =>
      this.#namespace(at, was as StoredNamespace | undefined, is as StoredNamespace | undefined),
    splits: (at, was, is) =>
      this.#split(at, was as StoredSplit | undefined, is as StoredSplit | undefined),
    slices: (at, was, is) =>
      this.#slice(at, was as StoredSlice | undefined, is as StoredSlice | undefined),
    routes: (at, _, is) => this.#route(at, is as StoredRoute | undefined),
    "id-strategies": (at, was, is) => this.#idSteps(at, was as IdSteps, is as IdSteps),
    leases: (at, was, is) => this.#lease(at, was as Lease, is as Lease),
    parts: (at, was, is) => {
      if (was !== undefined && is !== undefined && JSON.stringify(was) !== JSON.stringify(is)) {
        this.#fail(`${at}: a listed part has changed (C8)`);
      }
    },
  };

  #namespace(at: string, was: StoredNamespace | undefined, is: StoredNamespace | undefined): void {
    if (is === undefined) return;
    this.#namespaces.set(is.id, is);
    if (was === undefined || was.id !== is.id) return;
    const claim = (holds: boolean, what: string): void => {
      if (!holds) this.#fail(`${at}: ${what}`);
    };
    claim(is.epoch >= was.epoch, "its epoch fell (C3)");
    if (is.epoch === was.epoch) {
      claim(is.floor >= was.floor, "its floor fell within an epoch (C1)");
      if (is.settled.epoch === was.settled.epoch) {
        claim(is.settled.floor >= was.settled.floor, "its settled floor fell (C1)");
      }
    } else claim(is.settled.epoch < is.epoch || is.settled.floor <= is.floor, SETTLED_AHEAD);
    if (is.settled.epoch === is.epoch) claim(is.settled.floor <= is.floor, SETTLED_AHEAD);
    claim(is.readMode.round >= was.readMode.round, "its round of evidence fell (C13)");
    claim(is.everEventual || !was.everEventual, "it forgot that it was eventual (C5)");
    claim(
      is.config.consistency !== "EVENTUAL" || is.everEventual,
      "it is eventual and does not note it (C5)",
    );
    const rising = is.epochStarts.every(
      ({ epoch, floor }, nth) =>
        nth === 0 ||
        (epoch > (is.epochStarts[nth - 1]?.epoch ?? 0) &&
          floor > (is.epochStarts[nth - 1]?.floor ?? 0)),
    );
    claim(rising, "a start of an epoch is dominated by another (C3)");
  }

  #split(at: string, was: StoredSplit | undefined, is: StoredSplit | undefined): void {
    if (is === undefined) return;
    const claim = (holds: boolean, what: string): void => {
      if (!holds) this.#fail(`${at}: ${what}`);
    };
    const { segments } = is;
    for (const [nth, { from, to, state, partRanges, confirmedAt }] of segments.entries()) {
      claim(from < to, "a segment is empty");
      const before = segments[nth - 1];
      if (before !== undefined) {
        claim(from === before.to, "a segment does not begin where the one before it ends (C10)");
        claim(before.state === "COMPLETED", "a segment began before the one before it ended (C10)");
      }
      claim(state === "COMPLETED" || confirmedAt === null, "a copy is confirmed and not completed");
      const behind = partRanges.map(({ start, count }) => start + count);
      claim(Math.max(0, ...behind) <= is.nextPart, "a part number may be given twice (C8)");
    }
    const namespace = this.#namespaces.get(at.split("/")[1] ?? "");
    if (was === undefined || namespace === undefined) return;
    claim(is.fence >= was.fence, "its fence fell (I7)");
    claim(is.nextPart >= was.nextPart, "its part numbers fell (C8)");
    claim(is.nextGeneration >= was.nextGeneration, "its generation fell (C8)");
    for (const segment of segments) {
      const known = was.segments.find(({ generation }) => generation === segment.generation);
      if (known === undefined) {
        this.#frozen(at, segment, namespace);
        continue;
      }
      claim(known.from === segment.from, "a frozen range has another start (C7)");
      claim(known.to === segment.to, "a frozen range has another end (C7)");
      claim(known.epoch === segment.epoch, "a frozen range has another epoch (C3)");
    }
  }

  /** A new segment lies below the floor that was settled in its epoch (rules C1 and C7). */
  #frozen(at: string, { epoch, to }: Segment, { settled }: StoredNamespace): void {
    if (epoch !== settled.epoch || to <= settled.floor) return;
    this.#fail(`${at}: a segment ends at ${to}, above the settled floor ${settled.floor} (C1)`);
  }

  #slice(at: string, was: StoredSlice | undefined, is: StoredSlice | undefined): void {
    if (was === undefined || is === undefined) return;
    if (SLICE_MOVES[was.state]?.includes(is.state) !== true) {
      this.#fail(`${at}: the slice went from ${was.state} to ${is.state} (C18)`);
    }
    const same =
      was.start === is.start &&
      was.end === is.end &&
      JSON.stringify(was.timePartition) === JSON.stringify(is.timePartition);
    if (!same) this.#fail(`${at}: the partitioning of a slice has changed`);
  }

  #route(at: string, is: StoredRoute | undefined): void {
    const { segments = [] } = is ?? {};
    segments.forEach(({ from, to }, nth) => {
      if (from >= to) this.#fail(`${at}: a route has an empty segment`);
      const before = segments[nth - 1];
      if (before !== undefined && from !== before.to) {
        this.#fail(`${at}: a route has a gap or an overlap (C10)`);
      }
    });
  }

  #idSteps(at: string, was: IdSteps, is: IdSteps): void {
    if (was === undefined || is === undefined) return;
    const kept = was.steps.every(({ from, factor }, nth) => {
      const now = is.steps[nth];
      return now?.from === from && now.factor === factor;
    });
    if (!kept) this.#fail(`${at}: a step of an id's strategy has changed (C15)`);
    is.steps.forEach(({ from, factor }, nth) => {
      const before = is.steps[nth - 1];
      if (before === undefined) return;
      if (from <= before.from || factor % before.factor !== 0) {
        this.#fail(`${at}: a step does not multiply the one before it (C15)`);
      }
    });
  }

  #lease(at: string, was: Lease, is: Lease): void {
    if (was === undefined || is === undefined) return;
    if (is.fence < was.fence) this.#fail(`${at}: the fence of a lease fell (C16)`);
    if (is.fence === was.fence && is.counter < was.counter) {
      this.#fail(`${at}: the counter of a lease fell (C16)`);
    }
  }
}

const SETTLED_AHEAD = "its settled floor is above its floor (C1)";

type IdSteps =
  { readonly steps: readonly { readonly from: number; readonly factor: number }[] } | undefined;
type Lease = { readonly fence: number; readonly counter: number } | undefined;
