/**
 * Braid over gRPC: requests encoded beforehand, on a connection that costs almost nothing, and
 * every event of an answer decoded.
 */
import { itemsOf } from "../../src/wire/event-record.ts";
import { eventOfFrame, TAG_FRAME } from "../../src/wire/frames.ts";
import { VarintReader, varintLength, writeVarint } from "../../src/wire/varint.ts";
import { writeRequest } from "../support/events.ts";
import { frameMessage, GrpcLoad } from "../support/grpc-load.ts";
import { readRequest, WRITE } from "../support/workload.ts";
import { GrpcMessages } from "./grpc-messages.ts";
import { INGEST_NAMESPACE } from "./namespaces.ts";
import type { PeerCaller, Series, Stored, Tally } from "./work.ts";

const READ = "TimeSeriesService/ReadEventRecords";
const STREAM = "TimeSeriesService/StreamEventRecords";
/** Of a request: its page token, field 8. */
const TAG_PAGE_TOKEN = 0x42;
/** Of an answer: the token of the next page, field 2. */
const TAG_NEXT_TOKEN = 0x12;

export async function grpcCaller(port: number): Promise<PeerCaller<Uint8Array>> {
  const grpc = await GrpcLoad.open(port);
  const requestOf = (stored: Stored, { id, start, end }: Series, pageEvents: number) =>
    readRequest(id, start, end, pageEvents, "OLDEST_FIRST", stored);
  /** Returns the token of the next page, "" at the end. */
  const call = async (method: string, request: Uint8Array, tally: Tally): Promise<Uint8Array> => {
    let next: Uint8Array = new Uint8Array();
    const messages = new GrpcMessages((message) => {
      next = decode(message, tally);
    });
    await grpc.call(method, frameMessage(request), (bytes) => messages.add(bytes));
    return next;
  };
  return {
    batchOf: (events) => frameMessage(writeRequest(INGEST_NAMESPACE, events)),
    write: async (batch) => void (await grpc.call(WRITE, batch)),
    load: async (stored, events) =>
      void (await grpc.call(WRITE, frameMessage(writeRequest(stored, events)))),
    loaded: () => Promise.resolve(),
    stream: async (stored, series, tally) =>
      void (await call(STREAM, requestOf(stored, series, 0), tally)),
    walk: async (stored, series, { pageEvents, pages }, tally) => {
      const request = requestOf(stored, series, pageEvents);
      let next = await call(READ, request, tally);
      for (let page = 1; page < pages && next.length > 0; page++) {
        next = await call(READ, withToken(request, next), tally);
      }
    },
    page: async (stored, series, { pageEvents }, tally) =>
      void (await call(READ, requestOf(stored, series, pageEvents), tally)),
  };
}

function withToken(request: Uint8Array, token: Uint8Array): Uint8Array {
  const head = Buffer.alloc(1 + varintLength(token.length));
  head[0] = TAG_PAGE_TOKEN;
  writeVarint(head, 1, token.length);
  return Buffer.concat([request, head, token]);
}

const reader = new VarintReader();

/** Takes the events of an answer and returns the token of the next page. */
function decode(message: Buffer, tally: Tally): Uint8Array {
  let token: Uint8Array = new Uint8Array();
  for (let at = 0; at < message.length;) {
    if (message[at] === TAG_FRAME) {
      const event = eventOfFrame(message, at);
      const [item] = event === undefined ? [] : itemsOf(event);
      if (event === undefined || item === undefined) throw new Error("not an event");
      tally.add(event.time, message.toString("utf8", event.idStart, event.idEnd), item.value);
      at = event.end;
      continue;
    }
    const tag = message[at];
    reader.position = at + 1;
    const length = reader.read(message, message.length);
    at = reader.position + length;
    if (tag === TAG_NEXT_TOKEN) token = message.subarray(reader.position, at);
  }
  return token;
}
