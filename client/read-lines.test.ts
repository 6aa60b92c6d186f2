import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readLines } from "./read-lines.ts";

async function linesOf(
  chunks: readonly Uint8Array[],
  max: number,
): Promise<(string | undefined)[]> {
  const lines: (string | undefined)[] = [];
  for await (const line of readLines(streamOf(chunks), max)) {
    lines.push(line === undefined ? undefined : Buffer.from(line).toString());
  }
  return lines;
}

async function* streamOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

test("the lines do not depend on where the chunks are cut", async () => {
  const text = fc.array(fc.constantFrom("a", "漢", "\n"), { maxLength: 60 });
  const cuts = fc.array(fc.nat(100), { maxLength: 8 });
  const property = fc.asyncProperty(
    text,
    cuts,
    fc.integer({ min: 1, max: 20 }),
    async (letters, at, max) => {
      const bytes = Buffer.from(letters.join(""));
      const chunks: Uint8Array[] = [];
      let start = 0;
      for (const end of at.toSorted((a, b) => a - b)) {
        chunks.push(bytes.subarray(start, Math.max(start, end)));
        start = Math.max(start, end);
      }
      chunks.push(bytes.subarray(start));
      const expected = letters.join("").split("\n");
      if (expected.at(-1) === "") expected.pop();
      deepEqual(
        await linesOf(chunks, max),
        expected.map((line) => (Buffer.byteLength(line) > max ? undefined : line)),
      );
    },
  );
  // A failing run prints its seed.
  await fc.assert(property, { numRuns: 300 });
});
