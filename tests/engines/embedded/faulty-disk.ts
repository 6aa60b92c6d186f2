/**
 * A disk that fails on command, for one process: `faulty-disk.c`, built where there is a C
 * compiler.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const SOURCE = fileURLToPath(new URL("faulty-disk.c", import.meta.url));

/** What `faulty-disk.c` does with the files of the directory. */
export type DiskMode = "ok" | "hold" | "fail-sync" | "full";

export interface FaultyDisk {
  readonly directory: string;
  readonly control: string;
  /** For the process that is to have this disk. */
  readonly env: Readonly<Record<string, string>>;
  set(mode: DiskMode): Promise<void>;
}

/** Builds the shim and runs the work on a fresh directory. */
export async function onFaultyDisk(work: (disk: FaultyDisk) => Promise<void>): Promise<void> {
  const base = await mkdtemp(join(tmpdir(), "braid-faulty-"));
  try {
    const shim = join(base, "faulty-disk.so");
    await promisify(execFile)("cc", ["-shared", "-fPIC", "-O1", "-o", shim, SOURCE, "-ldl"]);
    const control = join(base, "control");
    const directory = join(base, "data");
    const set = (mode: DiskMode): Promise<void> => writeFile(control, mode);
    await set("ok");
    const env = {
      LD_PRELOAD: shim,
      FAULTY_DISK_CONTROL: control,
      FAULTY_DISK_DIRECTORY: directory,
    };
    await work({ directory, control, env, set });
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}
