/**
 * Checks the files of a closed LevelDB store before LevelDB opens them, and seals them after it
 * closed.
 *
 * LevelDB neither verifies its tables when it reads nor reports a damaged log, so this code finds
 * corruption on the disk: it checks every block of every live table, the MANIFEST and the logs.
 * After a clean close the seal covers every byte of the files that are not tables; after a crash a
 * torn tail is legal.
 */
import type { BigIntStats } from "node:fs";
import { readFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { crc32c } from "@node-rs/crc32";
import { LevelDamage } from "./level-damage.ts";
import { readLog } from "./level-log.ts";
import { readManifest } from "./level-manifest.ts";
import { verifyTable } from "./level-table.ts";
import type { VerifiedTables } from "./verified-tables.ts";

/** A file as a clean close left it. */
export interface SealedFile {
  readonly name: string;
  readonly size: number;
  readonly crc: number;
}

/** What this process has verified already, and when. */
export interface Verification {
  readonly tables: VerifiedTables;
  readonly nowMs: number;
}

/**
 * Throws `LevelDamage` if a file is not what was written; any other error comes from the disk.
 * Skips tables that this process has verified already.
 */
export async function verifyLevel(
  directory: string,
  seal: readonly SealedFile[] | undefined,
  known?: Verification,
): Promise<void> {
  for (const file of seal ?? []) {
    const bytes = await readWhole(directory, file.name);
    if (bytes.length !== file.size || crc32c(bytes) !== file.crc) {
      throw new LevelDamage(`${file.name} is not as it was closed`);
    }
  }
  const current = await readWhole(directory, "CURRENT");
  const manifestName = /^(MANIFEST-\d+)\n$/.exec(current.toString("latin1"))?.[1];
  if (manifestName === undefined) throw new LevelDamage("CURRENT names no MANIFEST");
  const manifest = readManifest(await readWhole(directory, manifestName), manifestName);

  const names = await readdir(directory);
  for (const name of names.toSorted()) {
    const number = /^(\d+)\.log$/.exec(name)?.[1];
    if (number === undefined || Number(number) < manifest.firstLog) continue;
    readLog(await readWhole(directory, name), name, () => undefined);
  }
  const live = new Set<string>();
  // One table at a time, each a few MiB: this bounds the memory, and other work runs in between.
  for (const [number, size] of manifest.tables) {
    const base = String(number).padStart(6, "0");
    const name = names.includes(`${base}.ldb`) ? `${base}.ldb` : `${base}.sst`;
    live.add(name);
    await verifyTableFile(directory, name, size, known);
  }
  known?.tables.keepOnly(directory, live);
}

/**
 * Throws `LevelDamage` if the table is not what was written. `size`: the size in the MANIFEST;
 * without it the table is read even if it is known.
 */
export async function verifyTableFile(
  directory: string,
  name: string,
  size: number | undefined,
  known: Verification | undefined,
): Promise<void> {
  // Before the bytes: a file that changes in between is read again next time.
  const stats = known === undefined ? undefined : await statOf(directory, name);
  if (stats !== undefined && size !== undefined) {
    if (stats.size === BigInt(size) && known?.tables.has(directory, name, stats)) return;
  }
  const bytes = await readWhole(directory, name);
  if (size !== undefined && bytes.length !== size) {
    throw new LevelDamage(`${name} does not have its length`);
  }
  verifyTable(bytes, name);
  if (stats !== undefined) known?.tables.add(directory, name, stats, known.nowMs);
}

/** The files that a clean close leaves, except tables: those have their own checksums. */
export async function sealLevel(directory: string): Promise<SealedFile[]> {
  const sealed: SealedFile[] = [];
  for (const name of (await readdir(directory)).toSorted()) {
    if (!/^(CURRENT|MANIFEST-\d+|\d+\.log)$/.test(name)) continue;
    const bytes = await readWhole(directory, name);
    sealed.push({ name, size: bytes.length, crc: crc32c(bytes) });
  }
  return sealed;
}

function readWhole(directory: string, name: string): Promise<Buffer> {
  return orMissing(name, readFile(join(directory, name)));
}

function statOf(directory: string, name: string): Promise<BigIntStats> {
  return orMissing(name, stat(join(directory, name), { bigint: true }));
}

async function orMissing<T>(name: string, file: Promise<T>): Promise<T> {
  try {
    return await file;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      throw new LevelDamage(`${name} is missing`);
    }
    throw error;
  }
}
