/** Finds out whether a failed disk works again, by writing to it. */
import { open, rm } from "node:fs/promises";
import { join } from "node:path";

const BLOCK_BYTES = 1 << 20;

/** Whether this many bytes can be written and synced in the directory. */
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
    // Whatever the reason, the disk does not work yet.
    return false;
  }
}
