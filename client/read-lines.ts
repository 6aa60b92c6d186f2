/**
 * Lines of a stream of bytes, wherever its chunks are cut.
 *
 * Holds one line at most. A line longer than `lineBytesMax` is not kept: undefined stands in its
 * place, so that the lines after it keep their numbers.
 */
import { joined } from "./http.ts";

export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  lineBytesMax: number,
): AsyncGenerator<Uint8Array | undefined, void, undefined> {
  let parts: Uint8Array[] = [];
  let length = 0;
  const take = (part: Uint8Array): void => {
    length += part.length;
    if (length > lineBytesMax) parts = [];
    else if (part.length > 0) parts.push(part);
  };
  const finish = (): Uint8Array | undefined => {
    const [first = EMPTY] = parts;
    const whole = parts.length > 1 ? joined(parts, length) : first;
    const line = length > lineBytesMax ? undefined : whole;
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end < 0) break;
      take(chunk.subarray(start, end));
      yield finish();
      start = end + 1;
    }
    take(chunk.subarray(start));
  }
  // The last line may lack its newline.
  if (length > 0) yield finish();
}

const NEWLINE = 10;
const EMPTY = new Uint8Array();
