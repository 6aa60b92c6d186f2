import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { hmacSha256 } from "./hmac.ts";

test("an HMAC is the one that Node computes, for keys and messages of every length", () => {
  for (const keyBytes of [0, 1, 31, 32, 63, 64, 65, 200]) {
    const key = Buffer.alloc(keyBytes, keyBytes + 1);
    const mac = hmacSha256(key);
    for (let bytes = 0; bytes < 200; bytes++) {
      const message = Buffer.alloc(bytes, bytes);
      const expected = createHmac("sha256", key).update(message).digest();
      assert.deepEqual(mac(message), expected, `${keyBytes} and ${bytes} bytes`);
    }
  }
});
