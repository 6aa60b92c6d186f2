/** How LevelDB is set up: the numbers are measured, see `docs/decisions/0001-embedded-engine.md`. */
export interface LevelOptions {
  readonly writeBufferSize: number;
  readonly cacheSize: number;
  readonly blockSize: number;
  readonly maxFileSize: number;
  readonly maxOpenFiles: number;
  readonly compression: boolean;
}

/** For a slice. Tables are mapped into memory, so open files times their size is what a store may hold. */
export const LEVEL_OPTIONS: LevelOptions = {
  writeBufferSize: 16 << 20,
  cacheSize: 8 << 20,
  blockSize: 16 << 10,
  maxFileSize: 8 << 20,
  maxOpenFiles: 40,
  compression: true,
};

/** For the catalog, which is small. */
export const CATALOG_LEVEL_OPTIONS: LevelOptions = {
  writeBufferSize: 1 << 20,
  cacheSize: 1 << 20,
  blockSize: 4 << 10,
  maxFileSize: 2 << 20,
  maxOpenFiles: 40,
  compression: true,
};
