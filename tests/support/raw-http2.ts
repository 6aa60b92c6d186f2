/** HTTP/2 frame by frame, for what no client library lets a caller send. */
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";

export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export const FRAME = {
  DATA: 0,
  HEADERS: 1,
  RST_STREAM: 3,
  SETTINGS: 4,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

export const FLAG = { END_STREAM: 1, ACK: 1, END_HEADERS: 4 } as const;

export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Uint8Array = EMPTY,
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Each as a literal that is not indexed, without Huffman: long, and never wrong. */
export function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [
      Buffer.from([0]),
      literal(name),
      literal(value),
    ]),
  );
}

export function grpcHeaders(path: string, type = "application/grpc"): Buffer {
  return headerBlock({
    ":method": "POST",
    ":scheme": "http",
    ":path": path,
    ":authority": "127.0.0.1",
    "content-type": type,
    te: "trailers",
  });
}

/** SETTINGS with one entry: identifier and value. */
export function settings(entries: readonly (readonly [number, number])[] = []): Buffer {
  const payload = Buffer.alloc(entries.length * 6);
  entries.forEach(([id, value], i) => {
    payload.writeUInt16BE(id, i * 6);
    payload.writeUInt32BE(value, i * 6 + 2);
  });
  return frame(FRAME.SETTINGS, 0, 0, payload);
}

export const INITIAL_WINDOW_SIZE = 4;

/** One message behind its prefix. */
export function message(bytes: Uint8Array, flags = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flags;
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

/** A connection that sends what it is given and reads, or ignores, what comes back. */
export async function openRaw(url: string, reads = true): Promise<Socket> {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  if (reads) socket.resume();
  await once(socket, "connect");
  return socket;
}

/** Counts the frames of one type that arrive on a connection. */
export function countFrames(socket: Socket, type: number): { readonly count: number } {
  const counted = { count: 0 };
  let held: Buffer = Buffer.alloc(0);
  socket.on("data", (bytes: Buffer) => {
    held = Buffer.concat([held, bytes]);
    while (held.length >= 9) {
      const length = held.readUIntBE(0, 3);
      if (held.length < 9 + length) break;
      if (held[3] === type) counted.count++;
      held = held.subarray(9 + length);
    }
  });
  return counted;
}

/** Resolves when all was handed to the system, or the peer has left. */
export async function sent(socket: Socket, bytes: Uint8Array): Promise<void> {
  await new Promise<void>((resolve) => {
    if (socket.destroyed) return resolve();
    socket.once("close", () => resolve());
    socket.write(bytes, () => resolve());
  });
}

const EMPTY = Buffer.alloc(0);

function literal(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length: number[] = [];
  if (bytes.length < 127) length.push(bytes.length);
  else {
    length.push(127);
    let rest = bytes.length - 127;
    for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) | 128);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}
