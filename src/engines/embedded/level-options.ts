/** How LevelDB is set up: the numbers are measured, see `docs/decisions/0001-embedded-engine.md`. */
export interface LevelOptions {
  readonly writeBufferSize: number;
  readonly cacheSize: number;
  readonly blockSize: number;
  readonly maxFileSize: number;
  readonly maxOpenFiles: number;
  readonly compression: boolean;
}

/**
 * For a slice. LevelDB maps its tables into memory and keeps 64 of them at least, so 64 times the
 * file size counts as the process's memory; small tables also keep compactions short.
 */
export const LEVEL_OPTIONS: LevelOptions = {
  writeBufferSize: 8 << 20,
  cacheSize: 4 << 20,
  blockSize: 16 << 10,
  maxFileSize: 1 << 20,
  maxOpenFiles: 74,
  compression: true,
};

/** For the catalog, which is small. */
export const CATALOG_LEVEL_OPTIONS: LevelOptions = {
  writeBufferSize: 1 << 20,
  cacheSize: 1 << 20,
  blockSize: 4 << 10,
  maxFileSize: 1 << 20,
  maxOpenFiles: 74,
  compression: true,
};
