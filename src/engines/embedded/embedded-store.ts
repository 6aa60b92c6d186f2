/**
 * The EventStore of one machine: a LevelDB store for each slice, each in its own directory.
 *
 * The engine drops a slice by removing its directory. The catalog's store records which slices
 * exist, and which were dropped and are never made again: a directory that is missing without a
 * drop is DATA_LOSS, not an empty slice.
 */
import { mkdir, readdir, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { utf8 } from "../../lib/bytes.ts";
import type { Clock } from "../../lib/clock.ts";
import { KeyedMutex } from "../../lib/keyed-mutex.ts";
import { ServiceError, assert } from "../../lib/errors.ts";
import type { PartitionKey, SliceRef } from "../../model/partition.ts";
import type {
  BlockRange,
  BucketSearch,
  EventStore,
  IdPage,
  IdSearch,
  PlacedEvent,
  ScanRange,
  SeriesRef,
  SliceStats,
  StoredBlock,
} from "../../ports/event-store.ts";
import type { WalkPage, WalkRequest } from "../../ports/partition-walk.ts";
import type { Run } from "../../wire/frames.ts";
import { CheckedLevel } from "./checked-level.ts";
import type { CheckedLevelOptions } from "./checked-level.ts";
import { DIRECTORY_MODE, isThere, sizeOfDirectory, syncDirectory } from "./data-directory.ts";
import type { DiskSpace } from "./disk-space.ts";
import { findBucket } from "./find-bucket.ts";
import { putBlock, putEvent } from "./key-codec.ts";
import type { LevelDamage } from "./level-damage.ts";
import { levelCode, openingError, unavailable } from "./level-errors.ts";
import type { LevelOptions } from "./level-options.ts";
import type { LevelBatch } from "./level.ts";
import { MarkFile } from "./mark-file.ts";
import { scanBlocks } from "./scan-blocks.ts";
import { scanPartition } from "./scan-partition.ts";
import type { SliceRegister } from "./slice-register.ts";
import { StorePool } from "./store-pool.ts";
import { verifyTablesAgain } from "./table-verifier.ts";
import { listIds } from "./list-ids.ts";
import { walkPartitions } from "./walk-partitions.ts";

export interface EmbeddedStoreOptions {
  readonly directory: string;
  readonly register: SliceRegister;
  readonly openStoresMax: number;
  readonly level: Omit<CheckedLevelOptions, "directory" | "what">;
  readonly space?: DiskSpace | undefined;
  readonly openStoresChanged?: ((openStores: number) => void) | undefined;
  readonly verification?: VerificationObserver | undefined;
}

/** What the background verification of tables finds. */
export interface VerificationObserver {
  tableVerified(bytes: number): void;
  tableDamaged(): void;
}

const NO_PARTITIONS: WalkPage = {
  partitions: [],
  next: undefined,
  idsTogether: true,
  bytesRead: 0,
};

export class EmbeddedStore implements EventStore {
  readonly #events: string;
  readonly #trash: string;
  readonly #register: SliceRegister;
  readonly #tuning: LevelOptions;
  readonly #forgetVerified: (directory: string) => void;
  readonly #clock: Clock;
  readonly #pool: StorePool;
  readonly #space: DiskSpace | undefined;
  /** Keeps a slice from being created and dropped at the same time. */
  readonly #slices = new KeyedMutex();
  /** Slices for which this process knows whether they were ever written. */
  readonly #contents = new Map<string, "empty" | "written">();
  readonly #closing = new AbortController();
  #verifying: Promise<void> = Promise.resolve();
  #closed = false;

  private constructor(options: EmbeddedStoreOptions) {
    const { directory, register, level } = options;
    this.#events = join(directory, "events");
    this.#trash = join(directory, "trash");
    this.#register = register;
    this.#space = options.space;
    this.#tuning = level.tuning;
    this.#clock = level.clock;
    this.#forgetVerified = (path) => level.shared?.verified.forget(path);
    const open = async (name: string): Promise<CheckedLevel> => {
      const what = `slice ${name}`;
      // The slice may have been dropped while the caller waited for a place: that is no damage.
      if (register.stateOf(name) !== "LIVE") throw unavailable(what, undefined);
      return CheckedLevel.open({ ...level, directory: join(this.#events, name), what });
    };
    this.#pool = new StorePool(open, options.openStoresMax, level.clock, options.openStoresChanged);
  }

  /** Also finishes the drops that a crash cut short. */
  static async open(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
    const store = new EmbeddedStore(options);
    await mkdir(store.#events, { recursive: true, mode: DIRECTORY_MODE });
    await mkdir(store.#trash, { recursive: true, mode: DIRECTORY_MODE });
    await syncDirectory(options.directory);
    for (const name of await readdir(store.#trash)) {
      await rm(join(store.#trash, name), { recursive: true, force: true });
    }
    for (const name of options.register.dropped()) await store.#remove(name);
    // Only now: a forgotten name has no directory left.
    await options.register.forgetOldest();
    store.#verifying = store.#verifyTables(options);
    return store;
  }

  createSlice(slice: SliceRef): Promise<void> {
    const name = nameOf(slice);
    return this.#changeSlice(name, async () => {
      const state = this.#register.stateOf(name);
      if (state === "LIVE") return;
      if (state === "DROPPED") {
        throw new ServiceError("CONFLICT", `slice ${name} was dropped and is never made again`, {
          details: { slice: name },
        });
      }
      const directory = join(this.#events, name);
      // Exists already only if a crash came between here and the register; then it is empty.
      if (!(await isThere(directory))) {
        const parent = dirname(directory);
        await mkdir(parent, { recursive: true, mode: DIRECTORY_MODE });
        await syncDirectory(this.#events);
        await rm(`${directory}.new`, { recursive: true, force: true });
        await CheckedLevel.create(`${directory}.new`, this.#tuning);
        await rename(`${directory}.new`, directory);
        await syncDirectory(parent);
      }
      await this.#register.record(name, "LIVE");
    });
  }

  dropSlice(slice: SliceRef): Promise<void> {
    const name = nameOf(slice);
    return this.#changeSlice(name, async () => {
      // From here on the slice is dropped in any case: the next opening removes what is left.
      if (this.#register.stateOf(name) !== "DROPPED") await this.#register.record(name, "DROPPED");
      await this.#pool.discard(name);
      await this.#remove(name);
      this.#contents.delete(name);
      this.#forgetVerified(join(this.#events, name, "level"));
    });
  }

  /** The drop of the last slice removed the namespace's directory. */
  async dropNamespace(namespaceId: string): Promise<void> {
    if (this.#closed) throw closed();
    await this.#register.forgetNamespace(namespaceId);
  }

  async append(slice: SliceRef, events: readonly PlacedEvent[]): Promise<void> {
    if (events.length === 0) return;
    await this.#write(slice, events.length, (batch) => {
      let bytes = 0;
      for (const event of events) bytes += putEvent(batch, event);
      return bytes;
    });
  }

  /** Blocks count as bytes of their slice and not as events: their events are copies. */
  async appendBlocks(partition: PartitionKey, blocks: readonly StoredBlock[]): Promise<void> {
    if (blocks.length === 0) return;
    const series = utf8(partition.seriesId);
    await this.#write(partition, 0, (batch) => {
      let bytes = 0;
      for (const block of blocks) bytes += putBlock(batch, series, partition, block);
      return bytes;
    });
  }

  scan(
    partition: PartitionKey,
    range: ScanRange,
    signal: AbortSignal,
  ): AsyncGenerator<Run, void, undefined> {
    return this.#read(partition, (level) => scanPartition(level, partition, range, signal));
  }

  async findTimeBucket(
    series: SeriesRef,
    buckets: BucketSearch,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const name = this.#liveName(series);
    if (name === undefined || (await this.#isEmpty(name))) return undefined;
    const { level, release } = await this.#pool.acquire(name);
    try {
      return await findBucket(level, series, buckets, signal);
    } finally {
      release();
    }
  }

  scanBlocks(
    partition: PartitionKey,
    range: BlockRange,
    signal: AbortSignal,
  ): AsyncGenerator<readonly StoredBlock[], void, undefined> {
    return this.#read(partition, (level) => scanBlocks(level, partition, range, signal));
  }

  async listIds(slice: SliceRef, search: IdSearch, signal: AbortSignal): Promise<IdPage> {
    const name = this.#liveName(slice);
    if (name === undefined || (await this.#isEmpty(name))) return { ids: [], ended: true };
    const { level, release } = await this.#pool.acquire(name);
    try {
      return await listIds(level, this.#clock, search, signal);
    } finally {
      release();
    }
  }

  async walkPartitions(slice: SliceRef, walk: WalkRequest, signal: AbortSignal): Promise<WalkPage> {
    const name = this.#liveName(slice);
    if (name === undefined || (await this.#isEmpty(name))) return NO_PARTITIONS;
    const { level, release } = await this.#pool.acquire(name);
    try {
      return await walkPartitions(level, this.#clock, walk, signal);
    } finally {
      release();
    }
  }

  /**
   * For a slice that is not open the count is the mark's: after a crash it may lack the newest
   * events.
   */
  async sliceStats(slice: SliceRef): Promise<SliceStats> {
    const name = this.#liveName(slice);
    if (name === undefined) return { bytes: 0, events: 0 };
    const level = await this.#pool.peek(name);
    const directory = join(this.#events, name);
    if (level !== undefined) return { bytes: await level.sizeOnDisk(), events: level.events };
    try {
      const mark = await MarkFile.open(join(directory, "mark"));
      await mark.close();
      return { bytes: await sizeOfDirectory(join(directory, "level")), events: mark.last.events };
    } catch (error) {
      throw openingError(error, `slice ${name}`);
    }
  }

  async isEmpty(slice: SliceRef): Promise<boolean> {
    const name = this.#liveName(slice);
    return name === undefined || this.#isEmpty(name);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#closing.abort();
    await this.#verifying;
    await this.#slices.ended();
    await this.#pool.close();
  }

  /** Runs until the store closes. Never rejects. */
  async #verifyTables({ level, verification }: EmbeddedStoreOptions): Promise<void> {
    if (level.shared === undefined) return;
    const options = {
      tables: level.shared.verified,
      clock: level.clock,
      verified: (bytes: number) => verification?.tableVerified(bytes),
      damaged: (directory: string, damage: LevelDamage) => {
        verification?.tableDamaged();
        const name = relative(this.#events, dirname(directory));
        const error = openingError(damage, `slice ${name}`);
        level.warn?.(`the background verification found that slice ${name} is damaged`, error);
        // A failure to seal only costs a fuller check later.
        this.#pool.lose(name, error).catch(() => undefined);
      },
      failed: (table: string, error: unknown) =>
        level.warn?.(`the background verification cannot read ${table}`, error),
    };
    await verifyTablesAgain(options, this.#closing.signal);
  }

  async #write(
    slice: SliceRef,
    events: number,
    fill: (batch: LevelBatch) => number,
  ): Promise<void> {
    const name = this.#liveName(slice);
    if (name === undefined) {
      throw new ServiceError("STORAGE_UNAVAILABLE", `there is no slice ${nameOf(slice)}`, {
        details: { slice: slice.slice },
      });
    }
    this.#space?.requireRoom();
    // Before anything waits: a read that begins after the acknowledgement must open the slice.
    this.#contents.set(name, "written");
    const { level, release } = await this.#pool.acquire(name);
    try {
      await level.write(events, fill);
    } finally {
      release();
    }
  }

  async *#read<T>(
    slice: SliceRef,
    scan: (level: CheckedLevel) => AsyncGenerator<T, void, undefined>,
  ): AsyncGenerator<T, void, undefined> {
    const name = this.#liveName(slice);
    if (name === undefined || (await this.#isEmpty(name))) return;
    const { level, release } = await this.#pool.acquire(name);
    try {
      yield* scan(level);
    } finally {
      release();
    }
  }

  /**
   * Whether nothing was ever written to a slice. Slices are made ahead of time, and many reads
   * touch the next one: opening it would cost memory, fsyncs and disk space for nothing.
   */
  async #isEmpty(name: string): Promise<boolean> {
    const known = this.#contents.get(name);
    if (known !== undefined) return known === "empty";
    const mark = await MarkFile.open(join(this.#events, name, "mark")).catch(() => undefined);
    // Opening the slice reports the problem.
    if (mark === undefined) return false;
    await mark.close();
    // A store that is open, or that was not closed cleanly, has no seal.
    const contents = mark.last.sequence === 0 && mark.last.seal !== undefined ? "empty" : "written";
    // A write may have begun since.
    if (!this.#contents.has(name)) this.#contents.set(name, contents);
    return contents === "empty";
  }

  #liveName(slice: SliceRef): string | undefined {
    if (this.#closed) throw closed();
    const name = nameOf(slice);
    return this.#register.stateOf(name) === "LIVE" ? name : undefined;
  }

  async #remove(name: string): Promise<void> {
    const directory = join(this.#events, name);
    if (!(await isThere(directory))) return;
    const aside = join(this.#trash, name.replace("/", "."));
    await rm(aside, { recursive: true, force: true });
    await rename(directory, aside);
    await rm(aside, { recursive: true, force: true });
    await rmdir(dirname(directory)).catch((error: unknown) => {
      // The namespace has other slices, or its last two were dropped concurrently.
      if (!["ENOTEMPTY", "EEXIST", "ENOENT"].includes(levelCode(error) ?? "")) throw error;
    });
  }

  async #changeSlice(name: string, work: () => Promise<void>): Promise<void> {
    if (this.#closed) throw closed();
    await this.#slices.run(name, work);
  }
}

/** Both parts become directory names. */
function nameOf({ namespaceId, slice }: SliceRef): string {
  assert(/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(namespaceId), "a namespace's id is a plain name");
  assert(/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(slice), "a slice's name is a plain name");
  return `${namespaceId}/${slice}`;
}

function closed(): ServiceError {
  return new ServiceError("STORAGE_UNAVAILABLE", "the store is closed");
}
