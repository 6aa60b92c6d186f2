/**
 * The embedded engine: events and catalog of one machine in one data directory, on LevelDB.
 *
 * Every acknowledged append or catalog change is on disk (fsync). Opening verifies what it opens
 * and fails with DATA_LOSS instead of serving less. `docs/specs/embedded-format.md` has the layout.
 */
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import type { Storage } from "../../ports/storage.ts";
import { CheckedLevel } from "./checked-level.ts";
import type { CommitObserver } from "./checked-level.ts";
import { shareThreads } from "./disk-threads.ts";
import { guardDirectory, isThere, syncDirectory } from "./data-directory.ts";
import type { DiskUsage } from "../../ports/engine.ts";
import { DiskSpace } from "./disk-space.ts";
import { EmbeddedCatalog } from "./embedded-catalog.ts";
import { EmbeddedStore } from "./embedded-store.ts";
import type { VerificationObserver } from "./embedded-store.ts";
import { CATALOG_LEVEL_OPTIONS, LEVEL_OPTIONS, WRITE_BUFFERS_BYTES_MAX } from "./level-options.ts";
import type { LevelOptions } from "./level-options.ts";
import { SliceRegister } from "./slice-register.ts";
import { VerifiedTables } from "./verified-tables.ts";
import { WriteBuffers } from "./write-buffers.ts";

export interface EmbeddedObserver extends CommitObserver, VerificationObserver {
  openStoresChanged(openStores: number): void;
}

export interface EmbeddedEngineOptions {
  readonly directory: string;
  readonly clock: Clock;
  /**
   * Slices open at once; each costs memory and files, so above this the engine closes idle ones.
   */
  readonly openStoresMax?: number | undefined;
  /** Threads that the file operations of this process share (`UV_THREADPOOL_SIZE`). */
  readonly threads?: number | undefined;
  /** Below this many free bytes the engine accepts no events; undefined: it does not check. */
  readonly freeBytesMin?: number | undefined;
  readonly level?: Partial<LevelOptions> | undefined;
  readonly observer?: EmbeddedObserver | undefined;
  /** For the log: what an operator should know and no response reports. */
  readonly warn?: ((message: string, cause: unknown) => void) | undefined;
}

export interface EmbeddedEngine extends Storage {
  /** Why the engine accepts no events now, or undefined. */
  readOnly(): string | undefined;
  /** Undefined if the engine does not watch its disk. */
  disk(): DiskUsage | undefined;
  /** Waits for operations under way and closes every file cleanly. */
  close(): Promise<void>;
}

const OPEN_STORES_MAX = 256;

/**
 * Opens a data directory and makes it if needed. Rejects with STORAGE_UNAVAILABLE if another
 * process has it, CONFIG_INVALID if a newer version wrote it, DATA_LOSS if the catalog is damaged.
 */
export async function openEmbeddedEngine(options: EmbeddedEngineOptions): Promise<EmbeddedEngine> {
  const { directory, clock, observer, warn } = options;
  const guard = await guardDirectory(directory);
  let catalogLevel: CheckedLevel | undefined;
  let space: DiskSpace | undefined;
  try {
    const { freeBytesMin = 0 } = options;
    // Before anything is opened: on a full disk this makes the room for opening.
    if (freeBytesMin > 0) space = await DiskSpace.open({ directory, clock, freeBytesMin, warn });
    const common = { clock, warn, commitFailed: () => space?.check() };
    const shared = {
      threads: shareThreads(options.threads),
      buffers: new WriteBuffers(WRITE_BUFFERS_BYTES_MAX),
      verified: new VerifiedTables(),
    };
    const catalogDirectory = join(directory, "catalog");
    await createCatalog(directory, catalogDirectory);
    const level = await CheckedLevel.open({
      ...common,
      directory: catalogDirectory,
      what: "the catalog",
      tuning: CATALOG_LEVEL_OPTIONS,
    });
    catalogLevel = level;
    const catalog = await EmbeddedCatalog.open(level);
    const store = await EmbeddedStore.open({
      directory,
      register: await SliceRegister.open(level),
      space,
      openStoresMax: options.openStoresMax ?? OPEN_STORES_MAX,
      level: { ...common, shared, observer, tuning: { ...LEVEL_OPTIONS, ...options.level } },
      openStoresChanged: observer?.openStoresChanged.bind(observer),
      verification: observer,
    });
    const close = async (): Promise<void> => {
      try {
        await store.close();
      } finally {
        await level.close();
        await space?.close();
        await guard.release();
      }
    };
    return { store, catalog, readOnly: () => space?.readOnly, disk: () => space?.usage, close };
  } catch (error) {
    await catalogLevel?.close();
    await space?.close();
    await guard.release();
    throw error;
  }
}

/** Runs on the first start of a directory. A later start without a catalog is not a first start. */
async function createCatalog(directory: string, catalogDirectory: string): Promise<void> {
  if (await isThere(catalogDirectory)) return;
  if (await isThere(join(directory, "events"))) return;
  await rm(`${catalogDirectory}.new`, { recursive: true, force: true });
  await CheckedLevel.create(`${catalogDirectory}.new`, CATALOG_LEVEL_OPTIONS);
  await rename(`${catalogDirectory}.new`, catalogDirectory);
  await syncDirectory(directory);
}
