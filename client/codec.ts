/**
 * What the two forms of the API have in common: how a request is marked, how reads and writes of
 * events are encoded and their answers decoded, and what an error looks like.
 *
 * `binary-codec.ts` is the Connect protocol with protobuf, `json-codec.ts` plain HTTP with JSON.
 */
import type { BraidError } from "./braid-error.ts";
import type { EventPage, ReadQuery } from "./read-query.ts";
import type { NewEvent } from "./events.ts";
import type { HttpAnswer } from "./http.ts";
import type { WriteResult, WriteSyncResult } from "./messages.ts";

export type Body = string | Uint8Array<ArrayBuffer>;

export interface Codec {
  /** What a request of one answer, or of a stream, says about itself. */
  readonly unaryHeaders: Readonly<Record<string, string>>;
  readonly streamHeaders: Readonly<Record<string, string>>;
  /** The header that tells the server how long the caller waits. */
  readonly timeoutHeader: string;
  /** Of an answer, or of one message of a stream. */
  readonly bytesMax: number;

  encodeWrite(namespace: string, events: readonly NewEvent[]): Body;
  /** One event for `joinWrite`. */
  encodeEvent(event: NewEvent): Uint8Array;
  joinWrite(namespace: string, events: readonly Uint8Array[]): Body;
  encodeRead(namespace: string, query: ReadQuery, pageToken: string): Body;
  /** The same as the request of a stream. */
  encodeStream(namespace: string, query: ReadQuery, pageToken: string): Body;

  decodeWriteSync(bytes: Uint8Array): WriteSyncResult;
  decodeWrite(bytes: Uint8Array): WriteResult;
  decodePage(bytes: Uint8Array): EventPage;
  /** Ends where the stream ends; rejects with its error, or if it breaks off. */
  streamedPages(answer: HttpAnswer): AsyncGenerator<EventPage, void, undefined>;

  /** Throws ANSWER_INVALID for an answer of another kind than asked for. */
  checkAnswer(answer: HttpAnswer, stream: boolean): void;
  /** The error of an answer with a status that is not 200. */
  errorOf(answer: HttpAnswer, bytes: Uint8Array): BraidError;
}
