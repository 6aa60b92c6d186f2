/** A gRPC call made by hand on plain HTTP/2, for what no gRPC library lets a caller do. */
import { once } from "node:events";
import { connect, constants } from "node:http2";
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";

export interface RawCall {
  readonly session: ClientHttp2Session;
  readonly stream: ClientHttp2Stream;
}

/** Sends the request and reads nothing: the answer waits for a reader of the stream. */
export function openRawCall(
  url: string,
  method: string,
  message: Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): RawCall {
  const session = connect(url);
  const stream = session.request({
    ":path": `/${method}`,
    ":method": "POST",
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  stream.end(Buffer.concat([prefix, message]));
  return { session, stream };
}

/** Reads the answer to its end and returns the trailers, or the headers if there are none. */
export async function trailersOf({ session, stream }: RawCall): Promise<IncomingHttpHeaders> {
  let said: IncomingHttpHeaders = {};
  const take = (headers: IncomingHttpHeaders): void => {
    said = { ...said, ...headers };
  };
  stream.on("response", take);
  stream.on("trailers", take);
  stream.resume();
  await once(stream, "close");
  session.close();
  return said;
}

/** Leaves without reading further. */
export function cancel({ session, stream }: RawCall): void {
  // A cancelled stream also emits an error here.
  stream.on("error", () => undefined);
  stream.close(constants.NGHTTP2_CANCEL);
  session.close();
}
