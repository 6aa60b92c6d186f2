/** What every EventStore guarantees for blocks: part of its suite. */
import assert from "node:assert/strict";
import { ServiceError } from "../../src/lib/errors.ts";
import type { Code } from "../../src/lib/errors.ts";
import type { PartitionKey, SliceRef } from "../../src/model/partition.ts";
import { partKey, splitTableOf } from "../../src/model/split.ts";
import type { BlockRange, EventStore, Order, StoredBlock } from "../../src/ports/event-store.ts";
import { comparePositions } from "../../src/wire/frames.ts";
import type { Position } from "../../src/wire/frames.ts";
import type { StoreUnderTest } from "./event-store.ts";

type Claim = (
  name: string,
  work: (store: EventStore, under: StoreUnderTest) => Promise<void>,
) => void;

const START = 1_774_656_000_000_000;
const ORDERS: readonly Order[] = ["NEWEST_FIRST", "OLDEST_FIRST"];
const ALL: BlockRange = {
  order: "OLDEST_FIRST",
  at: undefined,
  until: undefined,
  firstBlocks: 4,
  fetchBytesMax: 256 << 10,
  blockBytesMax: 32 << 10,
};
const never = new AbortController().signal;

function block(
  time: number,
  id: string,
  bytes: string | Uint8Array = `${time} ${id}`,
): StoredBlock {
  return { key: position(time, id), bytes: Buffer.from(bytes) };
}

function position(time: number, id: string): Position {
  return { time: START + time, id: Buffer.from(id) };
}

function fetches(
  store: EventStore,
  part: PartitionKey,
  range: Partial<BlockRange> = {},
): Promise<(readonly StoredBlock[])[]> {
  return Array.fromAsync(store.scanBlocks(part, { ...ALL, ...range }, never));
}

async function read(
  store: EventStore,
  part: PartitionKey,
  range: Partial<BlockRange> = {},
): Promise<string[]> {
  return (await fetches(store, part, range)).flat().map(asText);
}

/** Key and bytes, for comparison. */
function asText({ key, bytes }: StoredBlock): string {
  return `${key.time} ${Buffer.from(key.id).toString()} ${Buffer.from(bytes).toString("latin1")}`;
}

/** The port's definition, word by word. */
function wanted(
  blocks: readonly StoredBlock[],
  { order, at, until, keyTimeMin = -1 }: BlockRange,
): string[] {
  const oldestFirst = blocks.toSorted((a, b) => comparePositions(a.key, b.key));
  const holding = at && oldestFirst.filter(({ key }) => comparePositions(key, at) <= 0).at(-1);
  const found: StoredBlock[] = [];
  for (const each of order === "OLDEST_FIRST" ? oldestFirst : oldestFirst.toReversed()) {
    if (order === "OLDEST_FIRST") {
      if (holding !== undefined && comparePositions(each.key, holding.key) < 0) continue;
      if (until === undefined || comparePositions(each.key, until) < 0) found.push(each);
    } else {
      if (at !== undefined && comparePositions(each.key, at) > 0) continue;
      found.push(each);
      if (until !== undefined && comparePositions(each.key, until) <= 0) break;
    }
  }
  return found.filter(({ key }) => key.time >= keyTimeMin).map(asText);
}

function failsWith(...codes: Code[]): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && codes.includes(error.code);
}

export function storedBlockClaims(claim: Claim, slice: SliceRef): void {
  const part = (seriesId: string, eventBucket = 0, timeBucket = 0): PartitionKey => ({
    ...slice,
    seriesId,
    timeBucket,
    eventBucket,
  });

  claim("blocks begin at the one that can hold a position, and end, both ways", async (store) => {
    const blocks = [block(10, "b"), block(10, "d"), block(20, "b"), block(30, "b"), block(40, "b")];
    await store.appendBlocks(part("a"), blocks.toReversed());
    const edges: (Position | undefined)[] = [undefined];
    for (const time of [5, 10, 20, 25, 40, 45]) {
      for (const id of ["a", "b", "c"]) edges.push(position(time, id));
    }
    // Before and behind all existing times.
    edges.push({ time: -1, id: Buffer.from("b") }, { time: 0, id: Buffer.alloc(0) });
    edges.push({ time: Number.MAX_SAFE_INTEGER, id: Buffer.from("b") });
    for (const order of ORDERS) {
      for (const at of edges) {
        await Promise.all(
          edges.map(async (until, i) => {
            const range = { ...ALL, order, at, until, firstBlocks: 1 + (i % 3) };
            const name = `${order} ${JSON.stringify([at, until])}`;
            assert.deepEqual(await read(store, part("a"), range), wanted(blocks, range), name);
          }),
        );
      }
    }
  });

  claim("ranges that meet at a time of keys share no block and miss none", async (store) => {
    const blocks = [10, 10, 20, 30, 30, 40].map((time, i) => block(time, `\u0000${i}`));
    await store.appendBlocks(part("a"), blocks);
    const edges = [-5, 10, 15, 25, 30, 40, 45].map((time) => position(time, ""));
    for (const order of ORDERS) {
      for (const keyTimeMin of [-1, START + 9, START + 10, START + 11, START + 30, START + 41]) {
        for (const at of [undefined, ...edges]) {
          await Promise.all(
            [undefined, ...edges].map(async (until, i) => {
              const range = { ...ALL, order, at, until, keyTimeMin, firstBlocks: 1 + (i % 3) };
              const name = `${order} ${keyTimeMin} ${JSON.stringify([at, until])}`;
              assert.deepEqual(await read(store, part("a"), range), wanted(blocks, range), name);
            }),
          );
        }
      }
      for (const edge of edges) {
        const older = {
          until: edge,
          ...(order === "NEWEST_FIRST" && { at: edge, until: undefined }),
        };
        const found = await Promise.all([
          read(store, part("a"), { order, ...older }),
          read(store, part("a"), { order, keyTimeMin: edge.time }),
        ]);
        const inOrder = order === "NEWEST_FIRST" ? found.toReversed() : found;
        assert.deepEqual(inOrder.flat(), wanted(blocks, { ...ALL, order }));
      }
    }
  });

  claim("ids of blocks are ordered as UTF-8 bytes, not as JavaScript strings", async (store) => {
    const ids = ["\u{1f600}", "\ufffd", "a\u0000b", "a", "a\u0000", "é", "z", "\u0000"];
    const blocks = ids.map((id) => block(0, id));
    await store.appendBlocks(part("s"), blocks);
    for (const order of ORDERS) {
      for (const at of [undefined, ...blocks.map(({ key }) => key)]) {
        for (const until of [undefined, ...blocks.map(({ key }) => key)]) {
          const range = { ...ALL, order, at, until, firstBlocks: 2 };
          assert.deepEqual(await read(store, part("s"), range), wanted(blocks, range));
        }
      }
    }
  });

  claim("parts are not mixed up, whatever their names", async (store) => {
    const parts = ["a", "ab", "a\u0000", "b", "\u{10ffff}"].flatMap((seriesId) =>
      [0, 1, 255, (1 << 30) - 1].flatMap((eventBucket) =>
        [0, 1].map((timeBucket) => part(seriesId, eventBucket, timeBucket)),
      ),
    );
    const only = (key: PartitionKey): StoredBlock =>
      block(key.timeBucket, "e", JSON.stringify(key));
    await Promise.all(parts.map((key) => store.appendBlocks(key, [only(key)])));
    for (const key of parts) {
      for (const order of ORDERS) {
        assert.deepEqual(await read(store, key, { order }), [asText(only(key))]);
        assert.deepEqual(await read(store, key, { order, at: position(5, "x") }), [
          asText(only(key)),
        ]);
      }
      assert.deepEqual(
        await read(store, key, { order: "NEWEST_FIRST", at: position(-1, "x") }),
        [],
      );
    }
  });

  claim("a part or a slice without blocks is empty", async (store) => {
    await store.appendBlocks(part("a"), [block(0, "e")]);
    await store.appendBlocks(part("b"), []);
    for (const order of ORDERS) {
      for (const at of [undefined, position(0, "e")]) {
        assert.deepEqual(await read(store, part("b"), { order, at }), []);
        assert.deepEqual(await read(store, part("a", 1), { order, at }), []);
        assert.deepEqual(
          await read(store, { ...part("a"), slice: "wide_none_0" }, { order, at }),
          [],
        );
        assert.deepEqual(
          await read(store, { ...part("a"), namespaceId: "other" }, { order, at }),
          [],
        );
      }
    }
  });

  claim("the same key again replaces the block", async (store, under) => {
    await store.appendBlocks(part("a"), [block(0, "e", "first, and longer"), block(1, "e")]);
    await store.appendBlocks(part("a"), [block(0, "e", "second")]);
    const both = [block(0, "e", "second"), block(1, "e")].map(asText);
    assert.deepEqual(await read(store, part("a")), both);
    assert.deepEqual(await read(await under.reopen(), part("a")), both);
  });

  claim("fetches of blocks keep to their limits, and return all", async (store) => {
    // From the newest to the oldest, as parts are written, in several calls.
    const blocks = Array.from({ length: 120 }, (_, i) =>
      block(1_000 - i, "e", Buffer.alloc(1 + ((i * 397) % 4_000), i)),
    );
    for (let at = 0; at < blocks.length; at += 50) {
      await store.appendBlocks(part("a"), blocks.slice(at, at + 50));
    }
    const blockBytesMax = Math.max(...blocks.map(({ bytes }) => bytes.length));
    for (const order of ORDERS) {
      for (const firstBlocks of [1, 2, 7, 1_000]) {
        for (const fetchBytesMax of [1, 10_000, 50_000, 1 << 20]) {
          for (const at of [undefined, position(950, "e")]) {
            const range = { ...ALL, order, at, firstBlocks, fetchBytesMax, blockBytesMax };
            const found = await fetches(store, part("a"), range);
            assert.ok((found[0]?.length ?? 0) <= firstBlocks);
            for (const fetched of found) {
              const bytes = fetched.reduce((sum, each) => sum + each.bytes.length, 0);
              assert.ok(fetched.length === 1 || (fetched.length > 1 && bytes <= fetchBytesMax));
            }
            assert.deepEqual(found.flat().map(asText), wanted(blocks, range));
          }
        }
      }
    }
  });

  claim("a block of 1 MB is stored beside small ones", async (store) => {
    const large = (time: number): StoredBlock => block(time, "e", Buffer.alloc(1 << 20, time));
    const blocks = [block(0, "e"), large(1), large(2), block(3, "e"), large(4), block(5, "e")];
    for (const each of blocks) await store.appendBlocks(part("a"), [each]);
    for (const order of ORDERS) {
      const range = { ...ALL, order, blockBytesMax: 1 << 20, fetchBytesMax: 1 << 20 };
      assert.deepEqual(await read(store, part("a"), range), wanted(blocks, range));
    }
  });

  claim(
    "the caller may reuse the blocks it passed, and returned ones stay valid",
    async (store) => {
      const given = block(0, "e", "mine");
      await store.appendBlocks(part("a"), [given]);
      (given.bytes as Buffer).fill(0);
      (given.key.id as Buffer).fill(0);
      const kept = await fetches(store, part("a"));
      await store.appendBlocks(part("b"), [block(0, "e", "other")]);
      await read(store, part("b"));
      assert.deepEqual(kept.flat().map(asText), [asText(block(0, "e", "mine"))]);
    },
  );

  claim("a reader that must not miss a block asks every replica", async (store) => {
    const level = { consistency: "ALL", targetMs: 1_000, maxMs: 5_000 } as const;
    await store.appendBlocks(part("a"), [block(0, "e")], level);
    assert.deepEqual(await read(store, part("a"), { level }), [asText(block(0, "e"))]);
  });

  claim("a scan of blocks ends when its signal aborts, and can be left early", async (store) => {
    const blocks = Array.from({ length: 60 }, (_, i) => block(i, "e"));
    await store.appendBlocks(part("a"), blocks);
    const range = { ...ALL, firstBlocks: 2, fetchBytesMax: 200, blockBytesMax: 100 };
    const leaving = new AbortController();
    const reason = new Error("enough");
    let count = 0;
    await assert.rejects(
      async () => {
        for await (const fetched of store.scanBlocks(part("a"), range, leaving.signal)) {
          count += fetched.length;
          if (count > 6) leaving.abort(reason);
        }
      },
      (error) => error === reason,
    );
    assert.ok(count < blocks.length);
    for await (const fetched of store.scanBlocks(part("a"), range, never)) {
      assert.equal(fetched.length, 2);
      break;
    }
    await assert.rejects(
      Array.fromAsync(store.scanBlocks(part("a"), range, AbortSignal.abort(reason))),
      (error) => error === reason,
    );
  });

  claim("a split table is created and dropped separately from its slice", async (store, under) => {
    const table = splitTableOf(slice);
    const key = partKey(part("a", 3), 7);
    await assert.rejects(
      store.appendBlocks(key, [block(0, "e")]),
      failsWith("STORAGE_UNAVAILABLE"),
    );
    await store.createSlice(table);
    const blocks = Array.from({ length: 200 }, (_, i) => block(i, "e", Buffer.alloc(1_000, i)));
    await store.appendBlocks(key, blocks);
    assert.equal((await store.sliceStats(slice)).events, 0);
    const again = await under.reopen();
    assert.deepEqual(await read(again, key), blocks.map(asText));
    const stats = await again.sliceStats(table);
    assert.equal(stats.events, 0);
    assert.ok(stats.bytes > 0);

    const range = { ...ALL, firstBlocks: 1, fetchBytesMax: 2_000, blockBytesMax: 1_000 };
    const scan = again.scanBlocks(key, range, never)[Symbol.asyncIterator]();
    assert.equal((await scan.next()).done, false);
    await again.dropSlice(table);
    await assert.doesNotReject(async () => {
      try {
        while ((await scan.next()).done !== true);
      } catch (error) {
        if (!failsWith("STORAGE_UNAVAILABLE")(error)) throw error;
      }
    });
    assert.deepEqual(await read(again, key), []);
    await assert.rejects(again.createSlice(table), failsWith("CONFLICT"));
    await assert.rejects(
      again.appendBlocks(key, [block(0, "e")]),
      failsWith("STORAGE_UNAVAILABLE"),
    );
    await again.appendBlocks(part("a"), [block(0, "e")]);
    assert.equal((await read(again, part("a"))).length, 1);
  });

  claim("a closed store refuses blocks", async (store, under) => {
    await under.dispose();
    await assert.rejects(
      store.appendBlocks(part("a"), [block(0, "e")]),
      failsWith("STORAGE_UNAVAILABLE"),
    );
    await assert.rejects(read(store, part("a")), failsWith("STORAGE_UNAVAILABLE"));
  });
}
