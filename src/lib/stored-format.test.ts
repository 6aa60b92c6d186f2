import { deepEqual, equal, throws } from "node:assert/strict";
import { test } from "node:test";
import { decodeFormat, encodeFormat, isUnreadable } from "./stored-format.ts";

const name = { what: "the record splits/x", details: { space: "splits", key: "x" } };

test("decoding returns the fields without their envelope", () => {
  const text = encodeFormat({ epoch: 3 });
  equal(text, '{"format":1,"epoch":3}');
  deepEqual(decodeFormat(text, name), { epoch: 3 });
});

test("M2, C28: a newer format is refused, and the error names its writer and the remedy", () => {
  throws(() => decodeFormat('{"format":2,"formatSince":"0.4.0","epoch":3}', name), {
    code: "STORAGE_UNAVAILABLE",
    message:
      "the record splits/x has format 2, which Braid 0.4.0 or later wrote; this process reads " +
      "formats up to 1: upgrade it to Braid 0.4.0 or later",
    details: { space: "splits", key: "x", format: 2, formatMax: 1 },
  });
  throws(() => decodeFormat('{"format":7}', name), /a newer version of Braid wrote/);
});

test("a known format is read, also one below the newest", () => {
  deepEqual(decodeFormat('{"format":1,"epoch":3}', name, 2), { epoch: 3 });
  deepEqual(decodeFormat('{"format":2,"formatSince":"0.4.0","epoch":3}', name, 2), { epoch: 3 });
});

test("text that is not a record with a format is DATA_LOSS", () => {
  for (const text of ["{", "null", "3", "[]", "{}", '{"format":0}', '{"format":"1"}']) {
    throws(() => decodeFormat(text, name), { code: "DATA_LOSS" }, text);
  }
});

test("a damaged and a newer record are unreadable, an outage is not", () => {
  const thrown = (text: string): unknown => {
    try {
      return decodeFormat(text, name);
    } catch (error) {
      return error;
    }
  };
  equal(isUnreadable(thrown("{")), true);
  equal(isUnreadable(thrown('{"format":2}')), true);
  equal(isUnreadable(new Error("away")), false);
});
