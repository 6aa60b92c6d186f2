/**
 * A gRPC caller that costs next to nothing: requests are encoded beforehand, answers are counted by their
 * frames and never decoded, and the flow-control window is large. So the server is what is measured.
 */
import { connect } from "node:http2";
import type { ClientHttp2Session, IncomingHttpHeaders } from "node:http2";

const WINDOW = 16 * 1024 * 1024;

export class GrpcLoad {
  readonly #session: ClientHttp2Session;

  private constructor(session: ClientHttp2Session) {
    this.#session = session;
  }

  static async open(port: number): Promise<GrpcLoad> {
    const session = connect(`http://127.0.0.1:${port}`, {
      settings: { initialWindowSize: WINDOW, enablePush: false },
    });
    await new Promise<void>((resolve, reject) => {
      session.once("connect", () => resolve());
      session.once("error", reject);
    });
    session.setLocalWindowSize(WINDOW);
    return new GrpcLoad(session);
  }

  /** Calls a method and returns the number of message bytes that came back. */
  call(method: string, framed: Uint8Array): Promise<number> {
    return new Promise((resolve, reject) => {
      const stream = this.#session.request({
        ":method": "POST",
        ":path": `/braid.v1.${method}`,
        "content-type": "application/grpc",
        te: "trailers",
      });
      let bytes = 0;
      let status = "";
      stream.on("data", (chunk: Buffer) => (bytes += chunk.length));
      stream.on("response", (headers) => (status ||= String(headers["grpc-status"] ?? "")));
      stream.on("trailers", (headers: IncomingHttpHeaders) => {
        status = String(headers["grpc-status"]);
      });
      stream.on("error", reject);
      stream.on("end", () => {
        if (status === "0") resolve(bytes);
        else reject(new Error(`${method}: grpc-status ${status}`));
      });
      stream.end(framed);
    });
  }

  close(): void {
    this.#session.close();
  }
}

/** A message with gRPC's five bytes in front. */
export function frameMessage(message: Uint8Array): Uint8Array {
  const framed = Buffer.alloc(5 + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, 5);
  return framed;
}
