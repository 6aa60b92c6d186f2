/**
 * The high-water mark: the last commit known to be acknowledged, stored outside LevelDB's log.
 *
 * A damaged log resembles one that a crash cut short; the mark distinguishes them (rule C22). It is
 * written lazily and without a sync, in two slots alternately, so that a crash while writing one
 * leaves the other. A clean close writes the seal of the files beside it, synced.
 */
import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { hash32 } from "../../lib/hash.ts";
import { assert } from "../../lib/errors.ts";
import { FILE_MODE } from "./data-directory.ts";
import { LevelDamage } from "./level-damage.ts";
import type { SealedFile } from "./verify-level.ts";

export interface Mark {
  /** The last acknowledged commit known when this was written. */
  readonly sequence: number;
  /** Events written up to that commit, repeats included. */
  readonly events: number;
  /** Present only after a clean close. */
  readonly seal?: readonly SealedFile[] | undefined;
}

const SLOT_BYTES = 4096;
const CHECKSUM_DIGITS = 8;
const SEED = 0x6d61726b;

export class MarkFile {
  readonly #file: FileHandle;
  #turn: number;
  #last: Mark;

  private constructor(file: FileHandle, turn: number, last: Mark) {
    this.#file = file;
    this.#turn = turn;
    this.#last = last;
  }

  static async create(path: string, seal?: readonly SealedFile[]): Promise<void> {
    const file = await open(path, "wx+", FILE_MODE);
    try {
      await file.write(encodeSlot(0, { sequence: 0, events: 0, seal }), 0, SLOT_BYTES, 0);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** Rejects with `LevelDamage` if no slot can be trusted. */
  static async open(path: string): Promise<MarkFile> {
    const file = await openExisting(path);
    try {
      const bytes = Buffer.alloc(2 * SLOT_BYTES);
      await file.read(bytes, 0, bytes.length, 0);
      let newest: Slot | undefined;
      for (const at of [0, SLOT_BYTES]) {
        const slot = decodeSlot(bytes.subarray(at, at + SLOT_BYTES));
        if (slot !== undefined && slot.turn >= (newest?.turn ?? 0)) newest = slot;
      }
      if (newest === undefined) throw new LevelDamage("the high-water mark cannot be read");
      return new MarkFile(file, newest.turn, newest.mark);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  get last(): Mark {
    return this.#last;
  }

  async write(mark: Mark): Promise<void> {
    const turn = this.#turn + 1;
    await this.#file.write(encodeSlot(turn, mark), 0, SLOT_BYTES, (turn % 2) * SLOT_BYTES);
    this.#turn = turn;
    this.#last = mark;
  }

  sync(): Promise<void> {
    return this.#file.datasync();
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

interface Slot {
  readonly turn: number;
  readonly mark: Mark;
}

function encodeSlot(turn: number, mark: Mark): Buffer {
  const body = Buffer.from(JSON.stringify({ turn, mark }));
  const slot = Buffer.alloc(SLOT_BYTES, " ");
  assert(CHECKSUM_DIGITS + body.length < SLOT_BYTES, "a mark fits its slot");
  slot.write(checksum(body), 0, "latin1");
  body.copy(slot, CHECKSUM_DIGITS);
  slot[CHECKSUM_DIGITS + body.length] = 0x0a;
  return slot;
}

function decodeSlot(slot: Buffer): Slot | undefined {
  const end = slot.indexOf(0x0a);
  if (end < CHECKSUM_DIGITS) return undefined;
  const body = slot.subarray(CHECKSUM_DIGITS, end);
  if (slot.toString("latin1", 0, CHECKSUM_DIGITS) !== checksum(body)) return undefined;
  // Its checksum matches, so it is what `encodeSlot` wrote.
  return JSON.parse(body.toString()) as Slot;
}

function checksum(body: Uint8Array): string {
  return hash32(body, SEED).toString(16).padStart(CHECKSUM_DIGITS, "0");
}

async function openExisting(path: string): Promise<FileHandle> {
  try {
    return await open(path, "r+");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      throw new LevelDamage("the high-water mark is missing");
    }
    throw error;
  }
}
