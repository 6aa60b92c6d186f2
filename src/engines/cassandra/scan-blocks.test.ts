import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import cassandra from "cassandra-driver";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { BlockRange } from "../../ports/event-store.ts";
import type { StatementLine } from "./select-rows.ts";
import { scanBlocks } from "./scan-blocks.ts";
import type { SelectSource } from "./select-rows.ts";
import { readLevel } from "./service-level.ts";
import type { Result, Row } from "./session.ts";
import { Speculation } from "./speculation.ts";

const AT_ONCE: StatementLine = (work) => work();

const PART: PartitionKey = {
  namespaceId: "plays-1",
  slice: "wide_data_20260328_0",
  seriesId: "a",
  timeBucket: 0,
  eventBucket: 1,
};
const RANGE: BlockRange = {
  order: "NEWEST_FIRST",
  at: undefined,
  until: undefined,
  firstBlocks: 4,
  fetchBytesMax: 1_600,
  blockBytesMax: 100,
};
const never = new AbortController().signal;

/** A statement as it was sent: the order, and the number of rows. */
interface Asked {
  readonly ascending: boolean;
  readonly limit: number;
}

/** A part with blocks at the times 1 to `blocks`, on a node that behaves as `execute` says. */
function partOf(blocks: number, before: (asked: Asked, nth: number) => Promise<void>) {
  const asked: Asked[] = [];
  const execute = async (_kind: string, query: string, params: unknown[]): Promise<Result> => {
    const upper = params[5] as Buffer;
    const limit = params.at(-1) as number;
    const ascending = query.includes("ASC");
    asked.push({ ascending, limit });
    await before({ ascending, limit }, asked.length);
    const times = Array.from({ length: blocks }, (_, i) => i + 1).filter(
      (time) => isAbove(time, params) && BigInt(time) <= timeIn(upper) - edge(params),
    );
    const wanted = (ascending ? times : times.toReversed()).slice(0, limit);
    return { rows: wanted.map(rowOf), more: false };
  };
  const clock = new VirtualClock(0);
  const source: SelectSource = {
    session: { execute, speculation: new Speculation() },
    inFlight: AT_ONCE,
    clock,
    table: "k.t",
    level: readLevel(),
  };
  return { asked, clock, source };
}

function timeIn(bytes: Buffer | undefined): bigint {
  return bytes?.readBigInt64BE(0) ?? 0n;
}

/** All blocks have the id "e": a lower bound with a lesser id includes those of its own time. */
function isAbove(time: number, params: readonly unknown[]): boolean {
  const [lower, id] = params.slice(3, 5) as [Buffer, Buffer];
  return BigInt(time) > timeIn(lower) - (id.toString() < "e" && timeIn(lower) > 0n ? 1n : 0n);
}

/** All blocks have the id "e": an upper bound with a lesser id excludes those of its own time. */
function edge(params: readonly unknown[]): bigint {
  return (params[6] as Buffer).toString() > "e" ? 0n : 1n;
}

function rowOf(time: number): Row {
  const event_time = cassandra.types.Long.fromNumber(time);
  return { event_time, event_id: "e", items: Buffer.alloc(100, time) };
}

function timedOut(): Error {
  return new cassandra.errors.OperationTimedOutError("no answer", "host");
}

async function timesOf(source: SelectSource, range: Partial<BlockRange>): Promise<number[][]> {
  const fetches = scanBlocks(source, PART, { ...RANGE, ...range }, never);
  return (await Array.fromAsync(fetches)).map((blocks) => blocks.map(({ key }) => key.time));
}

test("the block that holds a position and those behind it are requested at the same time", async () => {
  const both = Promise.withResolvers<void>();
  const { asked, source } = partOf(6, async (_, nth) => {
    if (nth === 2) both.resolve();
    // Neither is answered before the other was sent.
    await both.promise;
  });
  const at = { time: 2, id: Buffer.from("x") };
  const found = await timesOf(source, { order: "OLDEST_FIRST", at });
  deepEqual(found.flat(), [2, 3, 4, 5, 6]);
  deepEqual(asked.slice(0, 2), [
    { ascending: false, limit: 1 },
    { ascending: true, limit: 3 },
  ]);
});

test("a read of one block asks for that one only", async () => {
  const { asked, source } = partOf(6, async () => undefined);
  const at = { time: 2, id: Buffer.from("x") };
  const range = { ...RANGE, order: "OLDEST_FIRST", at, firstBlocks: 1 } as const;
  for await (const blocks of scanBlocks(source, PART, range, never)) {
    deepEqual(
      blocks.map(({ key }) => key.time),
      [2],
    );
    break;
  }
  deepEqual(asked, [{ ascending: false, limit: 1 }]);
});

test("a subrange of keys is one statement, in both orders", async () => {
  const { asked, source } = partOf(9, async () => undefined);
  const before = { time: 6, id: Buffer.alloc(0) };
  const sizes = { keyTimeMin: 3, firstBlocks: 16 };
  deepEqual(await timesOf(source, { ...sizes, at: before }), [[5, 4, 3]]);
  deepEqual(await timesOf(source, { ...sizes, order: "OLDEST_FIRST", until: before }), [[3, 4, 5]]);
  deepEqual(asked, [
    { ascending: false, limit: 16 },
    { ascending: true, limit: 16 },
  ]);
});

test("C20: a fetch asks for at most as many of the largest blocks as fit", async () => {
  const { asked, source } = partOf(40, async () => undefined);
  equal((await timesOf(source, {})).flat().length, 40);
  deepEqual(
    asked.map(({ limit }) => limit),
    [4, 16, 16, 16],
  );
  // This also holds for the first fetch, whatever number the reader requests.
  asked.length = 0;
  await timesOf(source, { firstBlocks: 30 });
  equal(asked[0]?.limit, 16);
});

test("P8: a node that runs out of time is asked for fewer blocks, and for more again when it answers", async () => {
  const { asked, clock, source } = partOf(60, async (_, nth) => {
    if (nth === 2 || nth === 3) throw timedOut();
  });
  const reading = timesOf(source, {});
  for (let waits = 0; waits < 10; waits++) await clock.advance(100);
  const found = await reading;
  deepEqual(
    found.flat(),
    Array.from({ length: 60 }, (_, i) => 60 - i),
  );
  deepEqual(
    asked.slice(0, 7).map(({ limit }) => limit),
    [4, 16, 4, 1, 2, 4, 8],
  );
});

test("a node that never answers in time is not asked for ever", async () => {
  const { asked, clock, source } = partOf(6, () => Promise.reject(timedOut()));
  const reading = rejects(timesOf(source, {}), { code: "STORAGE_UNAVAILABLE" });
  for (let waits = 0; waits < 10; waits++) await clock.advance(100);
  await reading;
  equal(asked.length, 6);
});
