/**
 * Compares reads of a part, in both layouts, with a plain list, and checks that no fault in it goes
 * unnoticed.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  anyEvents,
  anyRange,
  expected,
  framesOf,
  FROM,
  GENERATION,
  isHonest,
  newestFirst,
  ORIGINAL,
  readToEnd,
  runsOf,
  sameBytes,
  storedBlocks,
  storeOfBlocks,
  testEvent,
  TO,
  WHOLE,
  writeEvents,
} from "../../tests/support/part-events.ts";
import type { Seen, TestEvent, Written } from "../../tests/support/part-events.ts";
import { ServiceError } from "../lib/errors.ts";
import { SPLIT_LAYOUTS } from "../model/layouts.ts";
import type { SplitLayout } from "../model/layouts.ts";
import type { EventStore, Order, StoredBlock } from "../ports/event-store.ts";
import { bindingOf, encodeBlock, readBlock } from "../wire/packed-block.ts";
import type { BlockFields } from "../wire/packed-block.ts";
import { partKey } from "../model/split.ts";
import type { PartReadRange } from "./part-reader.ts";
import { readPart } from "./part-reader.ts";

const never = new AbortController().signal;
const ORDERS: readonly Order[] = ["NEWEST_FIRST", "OLDEST_FIRST"];
const LOCATION = partKey(ORIGINAL, 5);
const CONTEXT = {
  binding: bindingOf(LOCATION),
  generation: GENERATION,
  part: LOCATION.eventBucket,
};

function read(
  { store, record }: { store: EventStore; record: Written["record"] },
  layout: SplitLayout,
  range: PartReadRange,
): Promise<Seen> {
  const runs = readPart(store, ORIGINAL, GENERATION, layout, record, range, never);
  return readToEnd(async () => (await runs.next()).value ?? undefined);
}

/** About three to a block. */
function manyEvents(count: number): TestEvent[] {
  return newestFirst(
    Array.from({ length: count }, (_, i) => testEvent(FROM + 2 * i, `id-${i}`, 5_000)),
  );
}

for (const layout of SPLIT_LAYOUTS) {
  test(`CP11: ${layout}: a part returns any range of any events, in both orders`, async () => {
    const anyCuts = fc.record({
      runEvents: fc.integer({ min: 1, max: 15 }),
      chunkEvents: fc.integer({ min: 1, max: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(
        anyEvents,
        anyCuts,
        fc.array(anyRange, { minLength: 1, maxLength: 8 }),
        async (events, { runEvents, chunkEvents }, ranges) => {
          const runs = runsOf(events, runEvents, chunkEvents);
          const written = await writeEvents(events, layout, runs);
          equal(written.record.events, events.length);
          equal(written.record.bytes, framesOf(events).length);
          for (const range of ranges) {
            const seen = await read(written, layout, range);
            equal(seen.integrityError, undefined);
            sameBytes(seen.frames, framesOf(expected(events, range)));
            ok(seen.runs.every(isHonest));
          }
        },
      ),
    );
  });

  test(`${layout}: every event is found when a read continues behind the previous one`, async () => {
    const events = manyEvents(20);
    const written = await writeEvents(events, layout);
    for (const order of ORDERS) {
      for (const { position } of events) {
        for (const from of [FROM, position.time]) {
          for (const to of [position.time, TO]) {
            const range = { ...WHOLE, order, from, to, after: position };
            const seen = await read(written, layout, range);
            equal(seen.integrityError, undefined);
            sameBytes(seen.frames, framesOf(expected(events, range)));
          }
        }
      }
    }
  });

  test(`${layout}: events of one microsecond, a very large event, no event at all`, async () => {
    const same = Array.from({ length: 50 }, (_, i) => testEvent(FROM, `id-${i}`, 1_000));
    const large = testEvent(FROM + 9, "large", 1024 * 1024);
    const around = [testEvent(FROM + 9, "a", 10), large, testEvent(FROM + 9, "z", 10)];
    for (const events of [newestFirst(same), newestFirst(around), []]) {
      const written = await writeEvents(events, layout);
      for (const order of ORDERS) {
        const seen = await read(written, layout, { ...WHOLE, order });
        equal(seen.integrityError, undefined);
        sameBytes(seen.frames, framesOf(expected(events, { ...WHOLE, order })));
      }
    }
  });

  test(`${layout}: failing storage is an integrity error, and an abort is not`, async () => {
    const written = await writeEvents(manyEvents(3), layout);
    const unavailable = new ServiceError("STORAGE_UNAVAILABLE", "planted");
    written.store.before = () => Promise.reject(unavailable);
    const { integrityError } = await read(written, layout, WHOLE);
    deepEqual(
      [integrityError?.reason, integrityError?.late, integrityError?.cause],
      ["storage", false, unavailable],
    );
    written.store.before = () => Promise.reject(new ServiceError("DATA_LOSS", "planted"));
    equal((await read(written, layout, WHOLE)).integrityError?.reason, "damaged block");

    const leaving = new AbortController();
    written.store.before = () => leaving.abort(new Error("no longer wanted"));
    const runs = readPart(
      written.store,
      ORIGINAL,
      GENERATION,
      layout,
      written.record,
      WHOLE,
      leaving.signal,
    );
    const outcome = await runs.next().catch((error: unknown) => error);
    equal(outcome, leaving.signal.reason);
  });
}

test("a whole block passes unchanged, and a page fetches at most two blocks", async () => {
  const events = manyEvents(40);
  const { store, record } = await writeEvents(events, "PACKED");
  const blocks = await storedBlocks(store);
  ok(blocks.length > 10);
  const whole = await read({ store, record }, "PACKED", { ...WHOLE, runBytesMax: 1 });
  equal(whole.runs.length, blocks.length);
  whole.runs.forEach((run, i) => {
    equal(run.chunks.length, 1);
    equal(run.chunks[0]?.buffer, blocks[i]?.bytes.buffer);
  });

  const page = { ...WHOLE, firstBytes: 10_000, runBytesMax: 1024 * 1024 };
  for (const order of ORDERS) {
    const after = events[17]?.position;
    const runs = readPart(
      store,
      ORIGINAL,
      GENERATION,
      "PACKED",
      record,
      { ...page, order, after },
      never,
    );
    const first = await runs.next();
    ok(first.done === false && first.value.chunks.length <= 2);
  }
});

/** A block with some of its fields changed, sound in itself, in the same location or another. */
function forged(
  { bytes }: StoredBlock,
  change: Partial<BlockFields>,
  context = CONTEXT,
): StoredBlock {
  const head = readBlock(CONTEXT, bytes);
  ok(head !== undefined);
  const fields = { ...head, ...change };
  const frames = [bytes.subarray(head.framesStart, head.framesEnd)];
  return { key: fields.last, bytes: encodeBlock(context, fields, frames) };
}

function elsewhere(change: object): Parameters<typeof forged>[2] {
  return { ...CONTEXT, binding: bindingOf({ ...LOCATION, ...change }) };
}

type Fault = (
  block: StoredBlock,
  blocks: readonly StoredBlock[],
  randomness: number,
) => StoredBlock[];

/** The faults of one block. */
const FAULTS: Readonly<Record<string, Fault>> = {
  missing: () => [],
  "of another generation": (block) => [forged(block, {}, { ...CONTEXT, generation: 2 })],
  "of another part": (block) => [forged(block, {}, { ...CONTEXT, part: CONTEXT.part + 1 })],
  "of another series": (block) => [forged(block, {}, elsewhere({ seriesId: "profile:124" }))],
  "of another namespace": (block) => [forged(block, {}, elsewhere({ namespaceId: "ns-2" }))],
  "of another table": (block) => [forged(block, {}, elsewhere({ slice: "wide_other_0" }))],
  "of another time bucket": (block) => [forged(block, {}, elsewhere({ timeBucket: 8 }))],
  "with a flipped bit": ({ key, bytes }, _, randomness) => {
    const damaged = Uint8Array.from(bytes);
    const bit = randomness % (8 * bytes.length);
    damaged[bit >>> 3] = (damaged[bit >>> 3] as number) ^ (1 << (bit & 7));
    return [{ key, bytes: damaged }];
  },
  truncated: ({ key, bytes }, _, randomness) => [
    { key, bytes: bytes.slice(0, randomness % bytes.length) },
  ],
  "under the key of another": ({ key }, blocks, randomness) => {
    const others = blocks.filter((other) => other.key !== key);
    const other = others[randomness % others.length];
    return other === undefined ? [] : [{ key, bytes: other.bytes }];
  },
};

/** Faults that no storage causes, only a wrong writer. */
const FORGERIES: Readonly<Record<string, Fault>> = {
  "behind another one": (block) => [
    forged(block, { sequence: sequenceOf(block) || 1, before: LATE }),
  ],
  "behind one outside": (block) => [
    forged(block, { sequence: sequenceOf(block) || 1, before: OUTSIDE }),
  ],
  "numbered otherwise": (block) => {
    const before = readBlock(CONTEXT, block.bytes)?.before ?? OUTSIDE;
    return [forged(block, { sequence: sequenceOf(block) + 1, before })];
  },
};
const LATE = { time: TO - 1, id: Uint8Array.of(255) };
const OUTSIDE = { time: TO, id: Uint8Array.of(1) };

function sequenceOf({ bytes }: StoredBlock): number {
  return readBlock(CONTEXT, bytes)?.sequence ?? 0;
}

for (const [name, fault] of Object.entries({ ...FAULTS, ...FORGERIES })) {
  test(`X13: a block ${name}: a whole read ends in an integrity error, whichever block it is`, async () => {
    const events = manyEvents(20);
    const { store, record } = await writeEvents(events, "PACKED");
    const blocks = await storedBlocks(store);
    for (const [i, block] of blocks.entries()) {
      const faulty = await storeOfBlocks(blocks.toSpliced(i, 1, ...fault(block, blocks, 7919 * i)));
      for (const order of ORDERS) {
        const range = { ...WHOLE, order };
        const seen = await read({ store: faulty, record }, "PACKED", range);
        ok(seen.integrityError !== undefined, `block ${i}, ${order}`);
        equal(seen.integrityError.late, false);
        ok(isBeginning(seen.frames, framesOf(expected(events, range))), `block ${i}, ${order}`);
      }
    }
  });
}

test("V1: no fault in any block makes a read return less than there is without an integrity error", async () => {
  const names = Object.keys(FAULTS);
  await fc.assert(
    fc.asyncProperty(
      anyEvents.filter((events) => events.length > 0),
      fc.array(fc.tuple(fc.constantFrom(...names), fc.nat(), fc.nat()), {
        minLength: 1,
        maxLength: 3,
      }),
      fc.array(anyRange, { minLength: 1, maxLength: 8 }),
      async (events, plan, ranges) => {
        const { store, record } = await writeEvents(events, "PACKED");
        const sound = await storedBlocks(store);
        const locations = new Map(plan.map((each) => [each[1] % sound.length, each]));
        const planted = sound.flatMap((block, i) => {
          const [name = "", , randomness = 0] = locations.get(i) ?? [];
          return FAULTS[name]?.(block, sound, randomness) ?? [block];
        });
        const faulty = { store: await storeOfBlocks(planted), record };
        for (const range of ranges) {
          const seen = await read(faulty, "PACKED", range);
          const right = framesOf(expected(events, range));
          if (seen.integrityError === undefined) sameBytes(seen.frames, right);
          else ok(seen.integrityError.late || isBeginning(seen.frames, right));
        }
      },
    ),
    { numRuns: 300 },
  );
});

test("sound blocks with other numbers than listed are a late integrity error", async () => {
  const { store, record } = await writeEvents(manyEvents(20), "PACKED");
  for (const change of [{ events: record.events + 1 }, { bytes: record.bytes - 1 }]) {
    for (const order of ORDERS) {
      const listed = { store, record: { ...record, ...change } };
      const { integrityError } = await read(listed, "PACKED", { ...WHOLE, order });
      deepEqual([integrityError?.reason, integrityError?.late], ["wrong count", true]);
    }
  }
});

test("blocks outside the listed time or number are an integrity error", async () => {
  const { store, record } = await writeEvents(manyEvents(20), "PACKED");
  for (const change of [{ from: FROM + 1 }, { to: FROM + 38 }]) {
    for (const order of ORDERS) {
      const listed = { store, record: { ...record, ...change } };
      const { integrityError } = await read(listed, "PACKED", { ...WHOLE, order });
      equal(integrityError?.reason, "outside the part");
    }
  }
  const fewer = { store, record: { ...record, blocks: record.blocks - 1 } };
  equal((await read(fewer, "PACKED", WHOLE)).integrityError?.reason, "wrong count");
  const oldestFirst: PartReadRange = { ...WHOLE, order: "OLDEST_FIRST" };
  equal((await read(fewer, "PACKED", oldestFirst)).integrityError?.reason, "outside the part");
});

test("a part without any of its blocks is an integrity error in every range it may hold", async () => {
  const events = manyEvents(20);
  const { record } = await writeEvents(events, "PACKED");
  const store = await storeOfBlocks([]);
  await fc.assert(
    fc.asyncProperty(anyRange, async (range) => {
      const seen = await read({ store, record }, "PACKED", range);
      if (seen.integrityError === undefined) equal(expected(events, range).length, 0);
      equal(seen.runs.length, 0);
    }),
  );
});

test("X4: ROWS: a missing or an additional event is a late integrity error when the whole part is read", async () => {
  const events = manyEvents(20);
  const { record } = await writeEvents(events, "ROWS");
  const wrong = [events.toSpliced(9, 1), newestFirst([...events, testEvent(FROM + 1, "x", 9)]), []];
  for (const stored of wrong) {
    const { store } = await writeEvents(stored, "ROWS");
    for (const order of ORDERS) {
      const { integrityError } = await read({ store, record }, "ROWS", { ...WHOLE, order });
      deepEqual([integrityError?.reason, integrityError?.late], ["wrong count", true]);
    }
  }
});

function isBeginning(bytes: Buffer, of: Buffer): boolean {
  return bytes.equals(of.subarray(0, bytes.length));
}
