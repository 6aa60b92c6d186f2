/**
 * Reads one part of a split in order, and vouches that its runs miss nothing.
 *
 * Whole blocks pass unchanged, newest first, without work for each event; in the other direction
 * they are reversed, and at the edges of the range they are cut. Any deviation from the listed part
 * is an integrity error, and then the caller reads the original.
 */
import { ServiceError } from "../lib/errors.ts";
import type { PartitionKey } from "../model/partition.ts";
import { partKey } from "../model/split.ts";
import type { PartRecord } from "../model/split.ts";
import { LAYOUTS } from "../model/layouts.ts";
import type { SplitLayout } from "../model/layouts.ts";
import type {
  BlockRange,
  EventStore,
  Order,
  ScanRange,
  ServiceLevel,
  StoredBlock,
} from "../ports/event-store.ts";
import { comparePositions } from "../wire/frames.ts";
import type { Position, Run } from "../wire/frames.ts";
import { bindingOf, readBlock } from "../wire/packed-block.ts";
import type { BlockContext, BlockHead } from "../wire/packed-block.ts";
import { BlockChain } from "./block-chain.ts";
import type { ChainBreak } from "./block-chain.ts";
import { boundsOf, startOf } from "./block-cut.ts";
import type { Bounds } from "./block-cut.ts";
import { blockRangeOf, levelOf } from "./block-range.ts";
import { BlockRun } from "./block-run.ts";

/** For a part in rows. The limit in bytes usually binds first, unless events are tiny. */
const ROWS_RUN_EVENTS_MAX = 4096;

export interface PartReadRange {
  readonly from: number;
  readonly to: number;
  readonly order: Order;
  readonly after: Position | undefined;
  /** No run has more bytes than this, except one that is a single larger block or event. */
  readonly runBytesMax: number;
  /** How much the first fetch should bring, in bytes for blocks, in events for rows. */
  readonly firstBytes: number;
  readonly firstEvents?: number;
  /**
   * How many subranges of a long range are fetched ahead in parallel, if its parts have blocks;
   * without it, parts are read one by one, whole.
   */
  readonly subrangesAhead?: number;
  /** About as much as a subrange holds; no fetch of one has more. `runBytesMax` if not given. */
  readonly subrangeBytes?: number;
  /** The caller takes a page: nothing is fetched before it is asked for. */
  readonly onDemand?: true;
  readonly level?: ServiceLevel;
}

export type IntegrityReason = ChainBreak | "damaged block" | "gap between parts" | "storage";

/** The split cannot be vouched for: read the original. */
export class IntegrityError extends Error {
  readonly reason: IntegrityReason;
  /**
   * False: the runs returned before are right, and the original continues behind them. True: only
   * the end showed that something in between differs from the listed part, so nothing from this
   * part may be used.
   */
  readonly late: boolean;

  constructor(
    reason: IntegrityReason,
    where: string,
    options: { late?: boolean; cause?: unknown } = {},
  ) {
    super(
      `${reason}: ${where}`,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = "IntegrityError";
    this.reason = reason;
    this.late = options.late ?? false;
  }
}

/** The blocks of a part that hold a range, in order. */
export type BlockScan = () => AsyncIterable<readonly StoredBlock[]>;

/**
 * Runs of one part within a range, in order. Throws IntegrityError. Runs may have more events than
 * a page wants. `blocks`: how to get the blocks of the range, if not by one scan.
 */
export async function* readPart(
  store: EventStore,
  original: PartitionKey,
  generation: number,
  layout: SplitLayout,
  part: PartRecord,
  range: PartReadRange,
  signal: AbortSignal,
  blocks?: BlockScan,
): AsyncGenerator<Run, void, undefined> {
  const bounds = boundsOf(range);
  const location = partKey(original, part.part);
  const reading = { store, location, part, range, bounds, signal, blocks };
  if (part.events === 0 || !mayHold(part, bounds)) return;
  try {
    yield* LAYOUTS[layout].blocks ? readBlocks(reading, generation) : readRows(reading);
  } catch (error) {
    if (signal.aborted || !(error instanceof ServiceError)) throw error;
    const reason = error.code === "DATA_LOSS" ? "damaged block" : "storage";
    throw new IntegrityError(reason, nameOf(part), { cause: error });
  }
}

interface PartScan {
  readonly store: EventStore;
  readonly location: PartitionKey;
  readonly part: PartRecord;
  readonly range: PartReadRange;
  readonly bounds: Bounds;
  readonly signal: AbortSignal;
  readonly blocks: BlockScan | undefined;
}

async function* readBlocks(reading: PartScan, generation: number): AsyncGenerator<Run> {
  const { store, location, part, range, bounds, signal } = reading;
  const oneScan: BlockScan = () =>
    store.scanBlocks(location, blockRangeOf(part, range, bounds), signal);
  const context = { binding: bindingOf(location), generation, part: location.eventBucket };
  const chain = new BlockChain(part, range.order, bounds);
  for await (const blocks of (reading.blocks ?? oneScan)()) {
    const run = new BlockRun(range.order);
    for (const block of blocks) {
      const head = soundHead(context, part, block);
      const broken = chain.add(head);
      if (broken !== undefined) throw new IntegrityError(broken, nameOf(part, head));
      if (!run.add(block.bytes, head, bounds)) {
        throw new IntegrityError("damaged block", nameOf(part, head));
      }
      if (chain.over) break;
    }
    const built = run.build();
    if (built !== undefined) yield built;
    if (chain.over) break;
  }
  if (!chain.begun) {
    if (chain.provesNothing(await oldestBlock(reading, context))) return;
    throw new IntegrityError("missing block", nameOf(part));
  }
  const broken = chain.end();
  if (broken === undefined) return;
  throw new IntegrityError(broken, nameOf(part), { late: broken === "wrong count" });
}

/** The key it came under does not matter: the block's own fields are under its checksum. */
function soundHead(
  context: BlockContext,
  part: PartRecord,
  { bytes, checked }: StoredBlock,
): BlockHead {
  const head = readBlock(context, bytes, checked);
  if (head !== undefined) return head;
  throw new IntegrityError("damaged block", nameOf(part));
}

/** Called when a range came back empty: missing blocks cannot report that they are missing. */
async function oldestBlock(
  { store, location, part, range, signal }: PartScan,
  context: BlockContext,
): Promise<BlockHead | undefined> {
  const oldest: BlockRange = {
    order: "OLDEST_FIRST",
    at: undefined,
    until: undefined,
    firstBlocks: 1,
    fetchBytesMax: part.blockBytesMax,
    blockBytesMax: part.blockBytesMax,
    ...levelOf(range),
  };
  for await (const [block] of store.scanBlocks(location, oldest, signal)) {
    if (block !== undefined) return soundHead(context, part, block);
  }
  return undefined;
}

/** Rows are not bound to each other: only a read of the whole part can show that one is missing. */
async function* readRows({
  store,
  location,
  part,
  range,
  bounds,
  signal,
}: PartScan): AsyncGenerator<Run> {
  let events = 0;
  let bytes = 0;
  // The first fetch is small, as a page may want no more; the others are as large as allowed.
  let runEventsMax = Math.min(range.firstEvents ?? ROWS_RUN_EVENTS_MAX, ROWS_RUN_EVENTS_MAX);
  let { after } = range;
  for (let going = true; going;) {
    going = false;
    const scan: ScanRange = {
      from: Math.max(range.from, part.from),
      to: Math.min(range.to, part.to),
      order: range.order,
      after,
      runEventsMax,
      runBytesMax: range.runBytesMax,
      ...(runEventsMax < ROWS_RUN_EVENTS_MAX && { eventsWanted: runEventsMax }),
      ...levelOf(range),
    };
    for await (const run of store.scan(location, scan, signal)) {
      events += run.count;
      bytes += run.bytes;
      yield run;
      if (runEventsMax === ROWS_RUN_EVENTS_MAX) continue;
      ({ last: after } = run);
      runEventsMax = ROWS_RUN_EVENTS_MAX;
      going = true;
      break;
    }
  }
  const whole =
    comparePositions(bounds.low, startOf(part.from)) <= 0 &&
    comparePositions(bounds.high, startOf(part.to)) >= 0;
  if (!whole || (events === part.events && bytes === part.bytes)) return;
  throw new IntegrityError("wrong count", nameOf(part), { late: true });
}

/** Whether the range and the time of the part overlap. */
function mayHold(part: PartRecord, { low, high }: Bounds): boolean {
  return (
    comparePositions(low, high) < 0 &&
    comparePositions(low, startOf(part.to)) < 0 &&
    comparePositions(high, startOf(part.from)) > 0
  );
}

function nameOf(part: PartRecord, head?: BlockHead): string {
  return `part ${part.part}${head === undefined ? "" : `, block ${head.sequence}`}`;
}
