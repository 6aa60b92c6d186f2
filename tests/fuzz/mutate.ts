/** Random damage to bytes and to JSON, the same for the same seed. */
import type { SeededRandom } from "../sim/seeded-random.ts";

/** Bytes that mean something to a parser: lengths, separators, tags, the ends of ranges. */
const TELLING = [0, 1, 9, 10, 13, 32, 34, 44, 58, 91, 93, 123, 125, 127, 128, 254, 255];

/** A copy with up to `changes` changes: bytes flipped, cut, repeated, inserted. */
export function damaged(bytes: Uint8Array, random: SeededRandom, changes = 4): Buffer {
  let result = Buffer.from(bytes);
  for (let left = random.below(changes + 1); left > 0; left--) result = changedOnce(result, random);
  return result;
}

function changedOnce(bytes: Buffer, random: SeededRandom): Buffer<ArrayBuffer> {
  const at = random.below(bytes.length + 1);
  const length = random.below(Math.min(64, bytes.length - at) + 1);
  const part = bytes.subarray(at, at + length);
  switch (random.below(7)) {
    case 0:
      return Buffer.concat([bytes.subarray(0, at)]);
    case 1:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
    case 2:
      return Buffer.concat([bytes.subarray(0, at), random.bytes(random.below(32)), part]);
    case 3: {
      const copies = Array.from({ length: 1 + random.below(50) }, () => part);
      return Buffer.concat([bytes.subarray(0, at), ...copies, bytes.subarray(at)]);
    }
    case 4: {
      const flipped = Buffer.from(bytes);
      if (at < flipped.length) flipped[at] = (flipped[at] ?? 0) ^ (1 << random.below(8));
      return flipped;
    }
    default: {
      const changed = Buffer.from(bytes);
      if (at < changed.length) changed[at] = random.one(TELLING);
      return changed;
    }
  }
}

/** Values that are valid JSON and rarely what a field expects. */
function oddValue(random: SeededRandom): unknown {
  return random.one<() => unknown>([
    () => null,
    () => true,
    () => -1,
    () => 1e308,
    () => 0.1,
    () => Number.MAX_SAFE_INTEGER,
    () => "",
    () => "\u0000",
    () => "plays",
    () => "-9223372036854775808",
    () => "9999-12-31T23:59:59.999999999Z",
    () => "1e9s",
    () => "😀".repeat(1 + random.below(2_000)),
    () => [],
    () => ({}),
    () => Array.from({ length: random.below(200) }, () => ({})),
    () => nested(1 + random.below(200)),
  ])();
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { a: value };
  return value;
}

/** The same shape with some values replaced, removed, repeated or added. */
export function oddJson(value: unknown, random: SeededRandom): unknown {
  if (random.chance(0.05)) return oddValue(random);
  if (Array.isArray(value)) {
    const items = value.map((item) => oddJson(item, random));
    return random.chance(0.05) ? [...items, ...items, oddValue(random)] : items;
  }
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value)
    .filter(() => !random.chance(0.03))
    .map(([name, item]) => [name, oddJson(item, random)] as const);
  if (random.chance(0.03)) members.push([random.one(["x", "__proto__", ""]), oddValue(random)]);
  return Object.fromEntries(members);
}
