/**
 * Page tokens: a signed logical position. A token is never a storage cursor, so it survives a
 * restart, a change of storage and another server.
 *
 * A token holds the last position *examined*, not the last event returned, so that a filter that
 * matches nothing still makes progress (rule C11). It belongs to one namespace (by its internal id,
 * rule C12) and one query. It is signed by HMAC-SHA-256 and compared in constant time.
 */
import { hash, timingSafeEqual } from "node:crypto";
import { ServiceError } from "../lib/errors.ts";
import { hmacSha256 } from "../lib/hmac.ts";
import type { Hmac } from "../lib/hmac.ts";
import type { Position } from "../wire/frames.ts";
import type { ReadQuery } from "./read-query.ts";

/** What the next page needs to know. */
export interface PageState {
  readonly position: Position;
  /** Events still to be returned under the total limit; 0 for no limit. */
  readonly left: number;
  /**
   * Bytes and events read so far in the time bucket of `position`: width is counted across pages.
   */
  readonly bucketBytes: number;
  readonly bucketEvents: number;
}

export const TOKEN_LIFE_MICROS = 24 * 3600 * 1_000_000;

const VERSION = 1;
const MAC_BYTES = 16;
const QUERY_BYTES = 16;
const HEADER_BYTES = 1 + QUERY_BYTES + 5 * 8;

export class PageTokens {
  readonly #hmac: Hmac;

  constructor(key: Uint8Array) {
    this.#hmac = hmacSha256(key);
  }

  encode(query: ReadQuery, namespaceId: string, state: PageState, nowMicros: number): string {
    const { position } = state;
    const body = Buffer.alloc(HEADER_BYTES + position.id.length);
    body[0] = VERSION;
    body.set(queryHash(query, namespaceId), 1);
    let at = 1 + QUERY_BYTES;
    for (const value of [
      nowMicros,
      position.time,
      state.left,
      state.bucketBytes,
      state.bucketEvents,
    ]) {
      body.writeDoubleBE(value, at);
      at += 8;
    }
    body.set(position.id, at);
    return Buffer.concat([this.#mac(body), body]).toString("base64url");
  }

  decode(query: ReadQuery, namespaceId: string, nowMicros: number): PageState {
    const token = Buffer.from(query.pageToken, "base64url");
    // Decoding is lenient; only the exact text that a server wrote is accepted.
    const exact = token.toString("base64url") === query.pageToken;
    if (!exact || token.length < MAC_BYTES + HEADER_BYTES) throw invalid();
    const body = token.subarray(MAC_BYTES);
    if (!timingSafeEqual(this.#mac(body), token.subarray(0, MAC_BYTES))) throw invalid();
    if (body[0] !== VERSION) throw invalid();
    if (!body.subarray(1, 1 + QUERY_BYTES).equals(queryHash(query, namespaceId))) throw invalid();
    const number = (nth: number): number => body.readDoubleBE(1 + QUERY_BYTES + nth * 8);
    if (nowMicros - number(0) > TOKEN_LIFE_MICROS) {
      throw new ServiceError(
        "PAGE_TOKEN_EXPIRED",
        "the page token is older than 24 hours; begin the read again",
      );
    }
    return {
      position: { time: number(1), id: Uint8Array.from(body.subarray(HEADER_BYTES)) },
      left: number(2),
      bucketBytes: number(3),
      bucketEvents: number(4),
    };
  }

  #mac(body: Uint8Array): Buffer {
    return this.#hmac(body).subarray(0, MAC_BYTES);
  }
}

/**
 * Over everything that decides which events come in which order; the page size and partial returns
 * may change between pages.
 */
function queryHash(query: ReadQuery, namespaceId: string): Buffer {
  const { seriesId, start, end, order, totalLimit, filters } = query;
  const text =
    counted(namespaceId) + counted(seriesId) + counted(`${start} ${end} ${order} ${totalLimit}`);
  const parts = filters.flatMap(({ key, value }) => [countOf(key), key, countOf(value), value]);
  const content = parts.length === 0 ? text : Buffer.concat([Buffer.from(text), ...parts]);
  return hash("sha256", content, "buffer").subarray(0, QUERY_BYTES);
}

function counted(text: string): string {
  return `${Buffer.byteLength(text)}:${text}`;
}

function countOf(bytes: Uint8Array): Buffer {
  return Buffer.from(`${bytes.length}:`);
}

function invalid(): ServiceError {
  return new ServiceError(
    "PAGE_TOKEN_INVALID",
    "the page token is not one of this query in this namespace; pass it back unchanged, with the same query",
  );
}
