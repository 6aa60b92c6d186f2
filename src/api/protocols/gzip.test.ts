import { deepEqual, rejects } from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { unzipped } from "./gzip.ts";

test("Z11: what unpacks to more than the limit is given up, not unpacked first", async () => {
  const bomb = gzipSync(Buffer.alloc(16 << 20));
  for (const bytesMax of [0, 1, 1_000, (16 << 20) - 1]) {
    await rejects(unzipped(bomb, bytesMax), { code: "REQUEST_TOO_LARGE" });
  }
  const message = Buffer.from("a message");
  deepEqual(await unzipped(gzipSync(message), message.length), message);
  await rejects(unzipped(message, 1_000), { code: "REQUEST_INVALID" });
});
