/**
 * Checks the files of a closed LevelDB store before LevelDB opens them, and seals them after it closed.
 *
 * LevelDB neither verifies its tables when it reads nor tells of a damaged log, so this is where rot
 * on the disk is found: every block of every live table, the MANIFEST, the logs. After a clean close
 * the seal covers every byte of what is not a table; after a crash a torn tail is legal.
 */
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { crc32c } from "@node-rs/crc32";
import { LevelDamage } from "./level-damage.ts";
import { readLog } from "./level-log.ts";
import { readManifest } from "./level-manifest.ts";
import { verifyTable } from "./level-table.ts";

/** A file as a clean close left it. */
export interface SealedFile {
  readonly name: string;
  readonly size: number;
  readonly crc: number;
}

/** Throws `LevelDamage` if a file is not what was written; any other error is one of the disk. */
export async function verifyLevel(
  directory: string,
  seal: readonly SealedFile[] | undefined,
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
  // One table at a time, each a few MiB: the memory is bounded and other work goes on in between.
  for (const [number, size] of manifest.tables) {
    const base = String(number).padStart(6, "0");
    const name = names.includes(`${base}.ldb`) ? `${base}.ldb` : `${base}.sst`;
    const bytes = await readWhole(directory, name);
    if (bytes.length !== size) throw new LevelDamage(`${name} does not have its length`);
    verifyTable(bytes, name);
  }
}

/** What a clean close leaves behind, tables apart: they carry their own checksums. */
export async function sealLevel(directory: string): Promise<SealedFile[]> {
  const sealed: SealedFile[] = [];
  for (const name of (await readdir(directory)).toSorted()) {
    if (!/^(CURRENT|MANIFEST-\d+|\d+\.log)$/.test(name)) continue;
    const bytes = await readWhole(directory, name);
    sealed.push({ name, size: bytes.length, crc: crc32c(bytes) });
  }
  return sealed;
}

async function readWhole(directory: string, name: string): Promise<Buffer> {
  try {
    return await readFile(join(directory, name));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      throw new LevelDamage(`${name} is missing`);
    }
    throw error;
  }
}
