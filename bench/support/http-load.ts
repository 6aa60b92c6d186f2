/**
 * HTTP/1.1 callers on plain sockets: whole requests made beforehand, answers counted by
 * Content-Length.
 */
import { connect } from "node:net";
import type { Socket } from "node:net";

export class HttpLoad {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #answered: ((error?: Error) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", (error) => this.#answered?.(error));
  }

  static async open(port: number): Promise<HttpLoad> {
    const socket = connect(port, "127.0.0.1");
    socket.setNoDelay(true);
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", () => resolve());
      socket.once("error", reject);
    });
    return new HttpLoad(socket);
  }

  send(request: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#answered = (error) => (error === undefined ? resolve() : reject(error));
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const head = this.#received.indexOf("\r\n\r\n");
    if (head < 0) return;
    const headers = this.#received.subarray(0, head).toString("latin1");
    const length = Number(/content-length: (\d+)/i.exec(headers)?.[1]);
    if (this.#received.length < head + 4 + length) return;
    const ok = headers.startsWith("HTTP/1.1 200");
    const answer = ok ? "" : this.#received.toString();
    this.#received = this.#received.subarray(head + 4 + length);
    this.#answered?.(ok ? undefined : new Error(answer));
  }
}

export function httpRequest(method: string, body: string): Uint8Array {
  const bytes = Buffer.from(body);
  const head =
    `POST /braid.v1.${method} HTTP/1.1\r\nhost: 127.0.0.1\r\n` +
    `content-type: application/json\r\ncontent-length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), bytes]);
}
