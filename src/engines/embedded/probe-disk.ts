/** Finds out whether a disk that failed works again, by writing to it. */
import { open, rm } from "node:fs/promises";
import { join } from "node:path";

const BLOCK_BYTES = 1 << 20;

/** Whether there is room in the directory for that many bytes, synced. */
export async function probeDisk(directory: string, bytes: number): Promise<boolean> {
  const path = join(directory, "probe");
  try {
    const file = await open(path, "w");
    try {
      const block = Buffer.alloc(BLOCK_BYTES);
      for (let at = 0; at < bytes; at += block.length) {
        const { bytesWritten } = await file.write(block, 0, block.length, at);
        if (bytesWritten < block.length) return false;
      }
      await file.datasync();
      return true;
    } finally {
      await file.close();
      await rm(path, { force: true });
    }
  } catch {
    // Whatever the reason: it does not work yet.
    return false;
  }
}
