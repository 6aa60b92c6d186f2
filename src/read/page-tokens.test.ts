import { deepEqual, equal, throws } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { utf8 } from "../lib/bytes.ts";
import { ServiceError } from "../lib/errors.ts";
import { PageTokens, TOKEN_LIFE_MICROS } from "./page-tokens.ts";
import type { PageState } from "./page-tokens.ts";
import type { ReadQuery } from "./read-query.ts";

const NOW = 1_790_000_000_000_000;

const query: ReadQuery = {
  namespace: "plays",
  seriesId: "profile:123",
  start: NOW - 1_000_000,
  end: NOW,
  filters: [{ key: utf8("device"), value: utf8("ios") }],
  order: "NEWEST_FIRST",
  pageSize: 100,
  totalLimit: 1000,
  pageToken: "",
  allowPartial: false,
};

const state: PageState = {
  position: { time: NOW - 5, id: utf8("e-1") },
  left: 900,
  bucketBytes: 12_345,
  bucketEvents: 100,
};

const tokens = new PageTokens(new Uint8Array(32).fill(7));

test("a token returns the state it was made from", () => {
  const time = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
  const states = fc
    .tuple(time, fc.uint8Array({ maxLength: 256 }), fc.nat(), fc.nat(), fc.nat())
    .map(([at, id, left, bucketBytes, bucketEvents]) => {
      return { position: { time: at, id }, left, bucketBytes, bucketEvents };
    });
  fc.assert(
    fc.property(states, (any) => {
      deepEqual(decode(tokens.encode(query, "plays-1", any, NOW)), any);
    }),
  );
});

test("R3, Z8: a token with any bit flipped, cut short, lengthened or made up is refused", () => {
  const token = tokens.encode(query, "plays-1", state, NOW);
  const bytes = Buffer.from(token, "base64url");
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = Buffer.from(bytes);
    flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
    refused("PAGE_TOKEN_INVALID", flipped.toString("base64url"));
  }
  for (let length = 0; length < token.length; length++) {
    if (length > 0) refused("PAGE_TOKEN_INVALID", token.slice(0, length));
  }
  for (const other of [`${token}A`, `${token}=`, ` ${token}`, "AAAA", "💥", token.toUpperCase()]) {
    refused("PAGE_TOKEN_INVALID", other);
  }
});

test("R4: a token of another namespace, query or key is refused", () => {
  const token = tokens.encode(query, "plays-1", state, NOW);
  const others: Partial<ReadQuery>[] = [
    { seriesId: "profile:124" },
    { start: query.start - 1 },
    { end: query.end + 1 },
    { order: "OLDEST_FIRST" },
    { totalLimit: 0 },
    { filters: [] },
    { filters: [{ key: utf8("devic"), value: utf8("eios") }] },
    { filters: [{ key: utf8("device"), value: utf8("web") }] },
    { filters: [{ key: utf8("model"), value: utf8("ios") }] },
  ];
  for (const other of others) refused("PAGE_TOKEN_INVALID", token, { ...query, ...other });
  refused("PAGE_TOKEN_INVALID", token, query, "plays-2");
  const foreign = new PageTokens(new Uint8Array(32).fill(8));
  refused("PAGE_TOKEN_INVALID", foreign.encode(query, "plays-1", state, NOW));
});

test("R3: a token of another version is refused, also if its signature is right", () => {
  const body = Buffer.from(tokens.encode(query, "plays-1", state, NOW), "base64url").subarray(16);
  const signed = (): string => {
    const mac = createHmac("sha256", new Uint8Array(32).fill(7)).update(body).digest();
    return Buffer.concat([mac.subarray(0, 16), body]).toString("base64url");
  };
  deepEqual(decode(signed()), state);
  body[0] = 2;
  refused("PAGE_TOKEN_INVALID", signed());
});

test("the page size and partial returns may change between pages", () => {
  const token = tokens.encode(query, "plays-1", state, NOW);
  deepEqual(decode(token, { ...query, pageSize: 7, allowPartial: true }), state);
});

test("R5: a token older than a day is expired, and the error says what to do", () => {
  equal(TOKEN_LIFE_MICROS, 86_400_000_000);
  const token = tokens.encode(query, "plays-1", state, NOW - TOKEN_LIFE_MICROS - 1);
  refused("PAGE_TOKEN_EXPIRED", token);
  deepEqual(decode(tokens.encode(query, "plays-1", state, NOW - TOKEN_LIFE_MICROS)), state);
});

function decode(pageToken: string, of: ReadQuery = query, namespaceId = "plays-1"): PageState {
  return tokens.decode({ ...of, pageToken }, namespaceId, NOW);
}

function refused(code: string, token: string, of: ReadQuery = query, id = "plays-1"): void {
  throws(
    () => decode(token, of, id),
    (error) => {
      equal(error instanceof ServiceError && error.code, code, token);
      return true;
    },
  );
}
