/** Values in Cassandra's wire format: the driver passes values bound as bytes unchanged. */

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function int32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeInt32BE(value, 0);
  return bytes;
}

export function int64(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  writeInt64(bytes, 0, value);
  return bytes;
}

/** Times are not negative and exact in a number. */
export function writeInt64(target: Buffer, at: number, value: number): void {
  const high = Math.floor(value / 0x1_0000_0000);
  target.writeUInt32BE(high, at);
  target.writeUInt32BE(value - high * 0x1_0000_0000, at + 4);
}
