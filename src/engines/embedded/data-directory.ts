/**
 * The data directory: one process at a time, one known format, and durable file names.
 *
 * The guard is an empty LevelDB store. The kernel holds its lock, so the lock ends with the process
 * however that ends. A process must hold the guard before it reads any file.
 */
import {
  chmod,
  mkdir,
  open,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  statfs,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { ClassicLevel } from "classic-level";
import { ServiceError } from "../../lib/errors.ts";
import { hash32 } from "../../lib/hash.ts";

const FORMAT = 1;
/** What opening the guard writes, including a margin. */
const GUARD_BYTES = 1 << 20;
const FORMAT_SEED = 0x666f726d;

/** Only the account that runs the server may read the directory. */
export const DIRECTORY_MODE = 0o700;
export const FILE_MODE = 0o600;

export interface DirectoryGuard {
  release(): Promise<void>;
}

/** Makes the directory if needed and excludes other processes until released. */
export async function guardDirectory(directory: string): Promise<DirectoryGuard> {
  await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
  await closeToOthers(directory);
  const path = join(directory, "guard");
  const owner = join(directory, "owner");
  const lock = await openGuard(path, directory, owner);
  try {
    await writeFile(owner, `${process.pid}\n`, { mode: FILE_MODE });
    await checkFormat(join(directory, "format"), directory);
  } catch (error) {
    await lock.close();
    throw error;
  }
  return {
    release: async () => {
      await rm(owner, { force: true });
      await lock.close();
    },
  };
}

async function openGuard(path: string, directory: string, owner: string): Promise<ClassicLevel> {
  for (let attempt = 1; ; attempt++) {
    const lock = new ClassicLevel(path);
    try {
      await lock.open();
      return lock;
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined;
      const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
      if (code === "LEVEL_LOCKED") throw await inUse(directory, owner);
      const free = await statfs(directory).then(({ bavail, bsize }) => bavail * bsize);
      const isFull = free < GUARD_BYTES;
      if (attempt === 1) {
        // No other process has the directory, so the ballast that is kept for this case can be
        // removed. Otherwise the guard is damaged; it holds nothing, and destroying it takes the
        // lock first.
        if (isFull) await rm(join(directory, "ballast"), { force: true });
        else await ClassicLevel.destroy(path);
        continue;
      }
      const why = isFull
        ? `the disk of the data directory ${directory} is full; free at least 32 MiB and start again`
        : `the data directory ${directory} cannot be locked`;
      throw new ServiceError("STORAGE_UNAVAILABLE", why, { cause: error });
    }
  }
}

/** A directory that an older version or an administrator made may be open to other accounts. */
async function closeToOthers(directory: string): Promise<void> {
  if (process.platform === "win32") return;
  const { mode, uid } = await stat(directory);
  // The owner decides; a server under another account can only use the directory as it is.
  if ((mode & 0o077) === 0 || uid !== process.getuid?.()) return;
  await chmod(directory, DIRECTORY_MODE);
}

async function inUse(directory: string, owner: string): Promise<ServiceError> {
  // The owner's process id is optional: without it the error still says what is wrong.
  const pid = await readFile(owner, "utf8").then(
    (text) => text.trim(),
    () => "",
  );
  const who = /^\d+$/.test(pid) ? `process ${pid}` : "another process";
  return new ServiceError(
    "STORAGE_UNAVAILABLE",
    `the data directory ${directory} is in use by ${who}; stop it or choose another directory`,
    { details: { directory, ...(pid === "" ? {} : { pid }) } },
  );
}

async function checkFormat(path: string, directory: string): Promise<void> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (text === undefined) {
    await writeDurably(path, formatText(FORMAT));
    return;
  }
  const version = Number(/^braid embedded (\d+) /.exec(text)?.[1] ?? Number.NaN);
  if (text !== formatText(version)) {
    throw new ServiceError("DATA_LOSS", `the format file of ${directory} is damaged`);
  }
  if (version > FORMAT) {
    throw new ServiceError(
      "CONFIG_INVALID",
      `the data directory ${directory} has format ${version}; this version knows ${FORMAT} and older`,
      { details: { directory, format: version, known: FORMAT } },
    );
  }
}

function formatText(version: number): string {
  const head = `braid embedded ${version}`;
  return `${head} ${hash32(Buffer.from(head), FORMAT_SEED).toString(16)}\n`;
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(`${path}.new`, "w", FILE_MODE);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
  await syncDirectory(dirname(path));
}

/** Makes the names in a directory durable. */
export async function syncDirectory(directory: string): Promise<void> {
  // Windows cannot open a directory; there, names are durable with their files.
  if (process.platform === "win32") return;
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Whether a file or directory of this name exists; throws an error that prevents the answer. */
export async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** The approximate bytes of its files: LevelDB removes files during the count. */
export async function sizeOfDirectory(directory: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(directory)) {
    try {
      bytes += (await stat(join(directory, name))).size;
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return bytes;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
