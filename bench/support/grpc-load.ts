/**
 * A gRPC caller that costs almost nothing, so that a bench measures the server: a plain socket that
 * speaks just enough HTTP/2. Requests are encoded beforehand, answers are counted by their
 * frames and not decoded here, and the flow-control windows are as large as they can be.
 *
 * It relies on the server taking a whole request at once (its windows are megabytes, and few are in
 * flight).
 */
import { connect } from "node:net";
import type { Socket } from "node:net";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 };
const END_STREAM = 1;
const END_HEADERS = 4;
const ACK = 1;
const WINDOW_MAX = 2 ** 31 - 1;
/** The connection's window is for all of its calls together, and is filled up again by so much. */
const REFILL_BYTES = 2 ** 28;
const FRAME_BYTES_MAX = 16_384;
const HEAD_BYTES = 9;

interface Call {
  bytes: number;
  /** Gets the bytes of the messages as they arrive. */
  readonly onBytes: ((bytes: Buffer) => void) | undefined;
  /** Whether any message came: an error has none. */
  resolve(bytes: number): void;
  reject(error: Error): void;
}

export class GrpcLoad {
  readonly #socket: Socket;
  readonly #calls = new Map<number, Call>();
  readonly #heads = new Map<string, Buffer>();
  #received: Buffer = Buffer.alloc(0);
  /** Bytes of the current DATA frame that have not arrived. */
  #passing = 0;
  /** The stream of that frame. */
  #passingStream = 0;
  #nextStream = 1;
  /** Since the connection's window was last filled up. */
  #taken = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", (error) => this.#failAll(error));
    socket.on("close", () => this.#failAll(new Error("the server closed the connection")));
    const window = Buffer.alloc(6);
    window.writeUInt16BE(4, 0); // SETTINGS_INITIAL_WINDOW_SIZE
    window.writeUInt32BE(WINDOW_MAX, 2);
    socket.write(
      Buffer.concat([
        PREFACE,
        frame(FRAME.settings, 0, 0, window),
        windowUpdate(WINDOW_MAX - 65_535),
      ]),
    );
  }

  static async open(port: number): Promise<GrpcLoad> {
    const socket = connect(port, "127.0.0.1");
    socket.setNoDelay(true);
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", () => resolve());
      socket.once("error", reject);
    });
    return new GrpcLoad(socket);
  }

  /** Calls a method and resolves with the bytes of the messages that came back, at least one. */
  call(method: string, message: Uint8Array, onBytes?: (bytes: Buffer) => void): Promise<number> {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    return new Promise((resolve, reject) => {
      this.#calls.set(stream, { bytes: 0, onBytes, resolve, reject });
      const parts = [frame(FRAME.headers, END_HEADERS, stream, this.#headOf(method))];
      for (let at = 0; at < message.length; at += FRAME_BYTES_MAX) {
        const last = at + FRAME_BYTES_MAX >= message.length;
        const part = message.subarray(at, at + FRAME_BYTES_MAX);
        parts.push(frame(FRAME.data, last ? END_STREAM : 0, stream, part));
      }
      this.#socket.write(Buffer.concat(parts));
    });
  }

  close(): void {
    this.#socket.removeAllListeners("close").destroy();
  }

  /**
   * Passes the content of DATA frames as it arrives; joins only bytes of a frame's head.
   */
  #take(chunk: Buffer): void {
    let at = Math.min(this.#passing, chunk.length);
    this.#passing -= at;
    if (at > 0) this.#calls.get(this.#passingStream)?.onBytes?.(chunk.subarray(0, at));
    if (this.#passing > 0) return;
    const received =
      this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk.subarray(at)]);
    if (this.#received.length > 0) at = 0;
    while (received.length - at >= HEAD_BYTES) {
      const length = received.readUIntBE(at, 3);
      const type = received[at + 3];
      const whole = received.length - at - HEAD_BYTES >= length;
      if (!whole && type !== FRAME.data) break;
      const payload = received.subarray(at + HEAD_BYTES, at + HEAD_BYTES + length);
      const [flags, stream] = [received[at + 4] ?? 0, received.readUInt32BE(at + 5)];
      at += HEAD_BYTES + payload.length;
      this.#passing = length - payload.length;
      this.#passingStream = stream;
      this.#takeFrame(type, flags, stream, length, payload);
    }
    this.#received = received.subarray(at);
  }

  /** `payload`: of a DATA frame, the bytes that have arrived. */
  #takeFrame(
    type: number | undefined,
    flags: number,
    stream: number,
    length: number,
    payload: Buffer,
  ): void {
    if (type === FRAME.settings && (flags & ACK) === 0) {
      this.#socket.write(frame(FRAME.settings, ACK, 0, Buffer.alloc(0)));
    }
    if (type === FRAME.ping && (flags & ACK) === 0) {
      this.#socket.write(frame(FRAME.ping, ACK, 0, payload));
    }
    if (type === FRAME.goAway) this.#failAll(new Error("the server sent GOAWAY"));
    if (type === FRAME.data) this.#refill(length);
    const call = this.#calls.get(stream);
    if (call === undefined) return;
    if (type === FRAME.data) {
      call.bytes += length;
      call.onBytes?.(payload);
    }
    const ended =
      type === FRAME.reset || ((type === 0 || type === 1) && (flags & END_STREAM) !== 0);
    if (!ended) return;
    this.#calls.delete(stream);
    if (call.bytes > 0 && type !== FRAME.reset) call.resolve(call.bytes);
    else call.reject(new Error("the call ended without an answer"));
  }

  #refill(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken < REFILL_BYTES) return;
    this.#socket.write(windowUpdate(this.#taken));
    this.#taken = 0;
  }

  #failAll(error: Error): void {
    for (const call of this.#calls.values()) call.reject(error);
    this.#calls.clear();
  }

  /** Headers as literals that are not indexed: the same bytes for every call. */
  #headOf(method: string): Buffer {
    let head = this.#heads.get(method);
    if (head === undefined) {
      head = Buffer.concat(
        [
          [":method", "POST"],
          [":scheme", "http"],
          [":path", `/braid.v1.${method}`],
          [":authority", "127.0.0.1"],
          ["content-type", "application/grpc"],
          ["te", "trailers"],
        ].flatMap(([name = "", value = ""]) => [Buffer.from([0]), literal(name), literal(value)]),
      );
      this.#heads.set(method, head);
    }
    return head;
  }
}

/** A message with gRPC's five bytes in front. */
export function frameMessage(message: Uint8Array): Uint8Array {
  const framed = Buffer.alloc(5 + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, 5);
  return framed;
}

function windowUpdate(bytes: number): Buffer {
  const more = Buffer.alloc(4);
  more.writeUInt32BE(bytes);
  return frame(FRAME.windowUpdate, 0, 0, more);
}

function literal(text: string): Buffer {
  // Lengths below 127 fit one byte, without Huffman coding.
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);
}

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(9 + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  bytes.set(payload, 9);
  return bytes;
}
