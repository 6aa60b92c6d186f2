/**
 * The saved position of one slice's walk: where to continue it, and how to save it again.
 *
 * A position is used only if what lies behind it is still true: of a settled slice as long as no
 * re-opening came in between, of one that takes events until the next walk is due anyway.
 */
import type { Clock } from "../lib/clock.ts";
import { isUnreadable } from "../lib/stored-format.ts";
import { isSealed } from "../model/epochs.ts";
import type { SliceRef } from "../model/partition.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import type { SliceRecord } from "../records/slice-records.ts";
import {
  NO_POSITION,
  readWalkPosition,
  removeWalkPosition,
  writeWalkPosition,
} from "../records/walk-positions.ts";
import type { PositionVersion, WalkPosition } from "../records/walk-positions.ts";
import type { DueWalk } from "./due-walks.ts";
import type { SliceWalk } from "./walk-slice.ts";

interface SavedWalkOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly currentEveryMs: number;
}

interface Found {
  readonly position: WalkPosition | undefined;
  /** Undefined: a newer version stored one, which must stay (rule C28). */
  readonly stored: PositionVersion | undefined;
}

export class SavedWalk {
  readonly #catalog: Catalog;
  readonly #ref: SliceRef;
  readonly #sealed: boolean;
  /** Of the namespace, when the walk began. */
  readonly epoch: number;
  /** Undefined: the walk begins at the beginning. */
  readonly resumed: WalkPosition | undefined;
  #stored: PositionVersion | undefined;

  static async open(
    options: SavedWalkOptions,
    record: NamespaceRecord,
    due: DueWalk<SliceRecord>,
  ): Promise<SavedWalk> {
    const ref = { namespaceId: record.id, slice: due.slice.name };
    const { position, stored } = await find(options.catalog, ref);
    const usable = position !== undefined && isUsable(position, options, record, due);
    const resumed = usable ? position : undefined;
    return new SavedWalk(options.catalog, ref, { sealed: due.sealed, record, resumed, stored });
  }

  private constructor(
    catalog: Catalog,
    ref: SliceRef,
    found: Omit<Found, "position"> & {
      readonly sealed: boolean;
      readonly record: NamespaceRecord;
      readonly resumed: WalkPosition | undefined;
    },
  ) {
    this.#catalog = catalog;
    this.#ref = ref;
    this.#sealed = found.sealed;
    this.#stored = found.stored;
    this.epoch = found.resumed?.epoch ?? found.record.epoch;
    this.resumed = found.resumed;
  }

  /** False if another process walks the slice. */
  async save(position: Omit<WalkPosition, "epoch" | "sealed">): Promise<boolean> {
    if (this.#stored === undefined) return true;
    const whole = { ...position, epoch: this.epoch, sealed: this.#sealed };
    const written = await writeWalkPosition(this.#catalog, this.#ref, whole, this.#stored);
    if (written === undefined) return false;
    this.#stored = written;
    return true;
  }

  /** A settled slice that is too large for one walk is continued by the next one. */
  async end({ asOf, rest }: SliceWalk): Promise<void> {
    if (rest === undefined || !this.#sealed) await this.discard();
    else await this.save({ asOf, ...rest, spentMs: 0 });
  }

  async discard(): Promise<void> {
    if (this.#stored !== undefined) await removeWalkPosition(this.#catalog, this.#ref);
  }
}

async function find(catalog: Catalog, ref: SliceRef): Promise<Found> {
  try {
    const position = await readWalkPosition(catalog, ref);
    return { position, stored: position?.stored ?? NO_POSITION };
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return { position: undefined, stored: undefined };
  }
}

function isUsable(
  position: WalkPosition,
  { clock, currentEveryMs }: SavedWalkOptions,
  { epoch, epochStarts }: NamespaceRecord,
  { slice, sealed }: DueWalk<SliceRecord>,
): boolean {
  if (position.sealed !== sealed) return false;
  if (sealed) return isSealed(epochStarts, { epoch: position.epoch, to: slice.end });
  const age = Math.abs(clock.nowMicros() - position.asOf);
  return position.epoch === epoch && age < currentEveryMs * 1_000;
}
