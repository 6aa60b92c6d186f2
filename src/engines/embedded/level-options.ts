/**
 * The options of LevelDB: the numbers are measured, see `docs/decisions/0001-embedded-engine.md`.
 */
export interface LevelOptions {
  readonly writeBufferSize: number;
  readonly cacheSize: number;
  readonly blockSize: number;
  readonly maxFileSize: number;
  readonly maxOpenFiles: number;
  readonly compression: boolean;
}

/** What the write buffers of all open slices may hold together (`WriteBuffers`). */
export const WRITE_BUFFERS_BYTES_MAX = 64 << 20;

/**
 * For a slice. LevelDB keeps 64 tables open and maps them into memory: with tables of 4 MiB a page
 * of a slice of up to 256 MiB opens none, and the kernel takes mapped memory back when it needs it.
 * The cache is small because hundreds of slices are open at a time; the file system caches the same
 * bytes.
 */
export const LEVEL_OPTIONS: LevelOptions = {
  writeBufferSize: 8 << 20,
  cacheSize: 1 << 20,
  blockSize: 16 << 10,
  maxFileSize: 4 << 20,
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
