/**
 * Checks every block of one LevelDB table file against its CRC32C.
 *
 * LevelDB writes these checksums but does not verify them when it reads, and the binding has no
 * option for it. The blocks must also join without a gap from the first byte to the footer, so
 * every byte that matters is checked.
 */
import { VarintReader } from "../../wire/varint.ts";
import { LevelDamage } from "./level-damage.ts";
import { crcAt, maskedCrc } from "./level-log.ts";
import { unsnappy } from "./unsnappy.ts";

const FOOTER_BYTES = 48;
const TRAILER_BYTES = 5;
const MAGIC = Buffer.from("57fb808b247547db", "hex");
const RAW = 0;
const SNAPPY = 1;

interface Handle {
  readonly offset: number;
  readonly size: number;
}

export function verifyTable(bytes: Uint8Array, name: string): void {
  const footer = bytes.length - FOOTER_BYTES;
  if (footer < 0 || Buffer.compare(bytes.subarray(bytes.length - MAGIC.length), MAGIC) !== 0) {
    throw new LevelDamage(`${name} has no footer`);
  }
  const reader = new VarintReader();
  reader.position = footer;
  const meta = readHandle(reader, bytes, name);
  const index = readHandle(reader, bytes, name);
  // In file order: data blocks, filter blocks, the index of those, the index of data blocks.
  const blocks = [
    ...handlesOf(block(bytes, index, name), name),
    ...handlesOf(block(bytes, meta, name), name),
    meta,
    index,
  ];
  let at = 0;
  for (const handle of blocks) {
    if (handle.offset !== at) throw new LevelDamage(`${name} has a gap at byte ${at}`);
    verifyBlock(bytes, handle, name);
    at += handle.size + TRAILER_BYTES;
  }
  if (at !== footer) throw new LevelDamage(`${name} has a gap at byte ${at}`);
}

function verifyBlock(bytes: Uint8Array, { offset, size }: Handle, name: string): void {
  const end = offset + size;
  if (end + TRAILER_BYTES > bytes.length - FOOTER_BYTES) {
    throw new LevelDamage(`${name} has a block beyond its end`);
  }
  if (crcAt(bytes, end + 1) !== maskedCrc(bytes.subarray(offset, end + 1))) {
    throw new LevelDamage(`${name} is damaged between the bytes ${offset} and ${end}`);
  }
}

function block(bytes: Uint8Array, handle: Handle, name: string): Uint8Array {
  verifyBlock(bytes, handle, name);
  const end = handle.offset + handle.size;
  const body = bytes.subarray(handle.offset, end);
  const type = bytes[end];
  if (type === RAW) return body;
  const whole = type === SNAPPY ? unsnappy(body) : undefined;
  if (whole === undefined) throw new LevelDamage(`${name} has a block of an unknown kind`);
  return whole;
}

/**
 * The values of an index block: its entries are (shared, unshared, value length, key tail, value).
 */
function handlesOf(index: Uint8Array, name: string): Handle[] {
  const restarts = index.length < 4 ? -1 : crcAt(index, index.length - 4);
  const end = index.length - 4 - 4 * restarts;
  if (restarts < 0 || end < 0) throw new LevelDamage(`${name} has an index that cannot be read`);
  const handles: Handle[] = [];
  const reader = new VarintReader();
  while (reader.position < end) {
    const shared = reader.read(index, end);
    const unshared = reader.read(index, end);
    const valueLength = reader.read(index, end);
    if (shared < 0 || unshared < 0 || valueLength < 0) {
      throw new LevelDamage(`${name} has an index that cannot be read`);
    }
    reader.position += unshared;
    const behind = reader.position + valueLength;
    handles.push(readHandle(reader, index, name));
    reader.position = behind;
  }
  return handles;
}

function readHandle(reader: VarintReader, bytes: Uint8Array, name: string): Handle {
  const offset = reader.read(bytes, bytes.length);
  const size = reader.read(bytes, bytes.length);
  if (offset < 0 || size < 0) throw new LevelDamage(`${name} has a handle that cannot be read`);
  return { offset, size };
}
