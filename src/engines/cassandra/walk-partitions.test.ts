import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import cassandra from "cassandra-driver";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { WalkRequest } from "../../ports/partition-walk.ts";
import { WALK_LEVEL } from "./service-level.ts";
import type { Result, Row } from "./session.ts";
import { Speculation } from "./speculation.ts";
import { walkPartitions } from "./walk-partitions.ts";

const { errors, types } = cassandra;
const SLICE = { namespaceId: "plays-1", slice: "data_20260328" };
const WALK: WalkRequest = {
  after: undefined,
  partitionsMax: 2,
  bytesMax: 1_000,
  msMax: 1_000,
  countBytesMax: 1_000,
  counts: () => false,
};
const never = new AbortController().signal;

/** A table of these partitions, each with a token of its own choice. */
function tableOf(tokens: Readonly<Record<string, bigint>>) {
  const asked: { from: bigint; to: bigint; limit: number }[] = [];
  const fail: { next: Error | undefined } = { next: undefined };
  const consistencies = new Set<unknown>();
  const rows = Object.entries(tokens)
    .toSorted(([, a], [, b]) => (a < b ? -1 : 1))
    .map(([seriesId, token]) => ({
      time_series_id: seriesId,
      time_bucket: 0,
      event_bucket: 0,
      position: types.Long.fromString(String(token)),
      at: token,
    }));
  const source = {
    session: {
      speculation: new Speculation(),
      execute: (
        _kind: string,
        _query: string,
        params: unknown[],
        options: { consistency?: number },
      ): Promise<Result> => {
        const [from, to, limit] = params as [Buffer, Buffer, number];
        const range = { from: from.readBigInt64BE(), to: to.readBigInt64BE(), limit };
        asked.push(range);
        consistencies.add(options.consistency);
        const { next } = fail;
        fail.next = undefined;
        if (next !== undefined) return Promise.reject(next);
        const found: Row[] = rows.filter(({ at }) => at >= range.from && at <= range.to);
        return Promise.resolve({ rows: found.slice(0, limit), more: false });
      },
    },
    inFlight: <T>(work: () => Promise<T>) => work(),
    clock: new VirtualClock(0),
    table: "braid_plays_1.data_20260328",
    level: WALK_LEVEL,
    eventBytesMax: () => Promise.resolve(256),
  };
  const walkAll = async (walk: WalkRequest): Promise<string[][]> => {
    const pages: string[][] = [];
    for (let after: string | undefined; ;) {
      const page = await walkPartitions(source, SLICE, { ...walk, after }, never);
      pages.push(page.partitions.map(({ seriesId }) => seriesId));
      if (page.next === undefined) return pages;
      after = page.next;
    }
  };
  return { source, walkAll, asked, fail, consistencies };
}

test("partitions that share a token come together, although the page's limit would cut them", async () => {
  const { walkAll } = tableOf({ a: -5n, b: 7n, c: 7n, d: 7n, e: 9n });
  deepEqual(await walkAll(WALK), [["a", "b", "c", "d"], ["e"]]);
  deepEqual(await walkAll({ ...WALK, partitionsMax: 1 }), [["a"], ["b", "c", "d"], ["e"], []]);
});

test("the least and the greatest token are walked", async () => {
  const { walkAll } = tableOf({ first: -(2n ** 63n) + 1n, last: 2n ** 63n - 1n });
  deepEqual((await walkAll({ ...WALK, partitionsMax: 10 })).flat(), ["first", "last"]);
  deepEqual((await walkAll({ ...WALK, partitionsMax: 1 })).flat(), ["first", "last"]);
});

test("a walk asks a majority of the local replicas, also for a namespace that reads one", async () => {
  const { walkAll, consistencies } = tableOf({ a: 1n });
  await walkAll(WALK);
  deepEqual([...consistencies], [types.consistencies.localQuorum]);
});

test("P8: a cluster that runs out of time is asked for fewer keys", async () => {
  const { source, asked, fail } = tableOf({ a: 1n, b: 2n, c: 3n });
  fail.next = new errors.OperationTimedOutError("too slow");
  const walking = walkPartitions(source, SLICE, { ...WALK, partitionsMax: 100 }, never);
  await source.clock.advance(1_000);
  equal((await walking).partitions.length, 3);
  deepEqual(
    asked.map(({ limit }) => limit),
    [100, 25],
  );
});

test("another failure ends the page, and the position stays good", async () => {
  const { source, fail } = tableOf({ a: 1n, b: 2n, c: 3n });
  const first = await walkPartitions(source, SLICE, { ...WALK, partitionsMax: 1 }, never);
  fail.next = new Error("gone");
  const after = first.next;
  await rejects(
    walkPartitions(source, SLICE, { ...WALK, after }, never),
    (error) => error instanceof ServiceError && error.code === "STORAGE_UNAVAILABLE",
  );
  const again = await walkPartitions(source, SLICE, { ...WALK, after }, never);
  deepEqual(
    again.partitions.map(({ seriesId }) => seriesId),
    ["b", "c"],
  );
});
