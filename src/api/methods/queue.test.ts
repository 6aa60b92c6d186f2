import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { utf8 } from "../../lib/bytes.ts";
import { never } from "../../../tests/support/control-fixture.ts";
import { queueMethods } from "./queue.ts";
import type { QueueUseCases } from "./queue.ts";

const NOON = Date.UTC(2026, 10, 15, 12) * 1000;

function fakes() {
  const calls: unknown[][] = [];
  const settled = { letters: 1, missing: [], notKept: [{ partition: 0, offset: 9 }], more: true };
  const queue: QueueUseCases = {
    kind: "embedded",
    process: "server-1",
    detections: {
      queue: async () => ({
        partitions: [
          { topic: "t", partition: 0, published: 9, done: 4, waiting: 5, oldestAt: NOON },
          { topic: "t", partition: 1, published: 2, done: 2, waiting: 0, oldestAt: undefined },
        ],
        inFlight: 1,
        buffered: 2,
        dead: [],
        deadLetters: 3,
        rates: { published: 1.5, done: 2, overMs: 2_500 },
      }),
      list: async (...args) => {
        calls.push(["list", ...args]);
        const value = utf8("x".repeat(5_000));
        const letter = { partition: 0, offset: 4, key: "k", value, why: "w", at: NOON };
        return {
          letters: [{ ...letter, origin: "o", valueBytes: 5_000, detection: undefined }],
          next: { partition: 1, offset: 8 },
          actions: [{ at: NOON, by: "ana", action: "dropped", letters: 2, reason: "r" }],
        };
      },
      replay: async (...args) => {
        calls.push(["replay", ...args]);
        return settled;
      },
      drop: async (...args) => {
        calls.push(["drop", ...args]);
        return settled;
      },
    },
  };
  const ask = async (name: string, value: object): Promise<Record<string, unknown>> => {
    const method = queueMethods(queue).find(({ desc }) => desc.name === name);
    const caller = { operator: "ana" };
    const call = await method?.fromJson(Buffer.from(JSON.stringify(value)), caller);
    return JSON.parse(String(await (await call?.run(never))?.json())) as Record<string, unknown>;
  };
  return { ask, calls };
}

test("the queue is shown by partition and in sum", async () => {
  const { ask } = fakes();
  deepEqual(await ask("GetQueue", {}), {
    queue: "embedded",
    process: "server-1",
    waiting: "5",
    oldestTime: "2026-11-15T12:00:00Z",
    publishedPerSecond: 1.5,
    handledPerSecond: 2,
    rateOver: "2.500s",
    inFlight: "1",
    buffered: "2",
    partitions: [
      { topic: "t", partition: 0, waiting: "5", oldestTime: "2026-11-15T12:00:00Z" },
      { topic: "t", partition: 1, waiting: "0" },
    ],
    deadLetters: "3",
  });
});

test("a dead letter is shown with the beginning of its value, and pages continue by a token", async () => {
  const { ask, calls } = fakes();
  const page = await ask("ListDeadDetections", { pageSize: 7 });
  deepEqual(page["deadDetections"], [
    {
      position: "0:4",
      reason: "w",
      time: "2026-11-15T12:00:00Z",
      key: "k",
      value: Buffer.from("x".repeat(4_096)).toString("base64"),
      valueBytes: "5000",
      kept: true,
      origin: "o",
    },
  ]);
  const time = "2026-11-15T12:00:00Z";
  deepEqual(page["actions"], [{ time, by: "ana", action: "dropped", count: "2", reason: "r" }]);
  await ask("ListDeadDetections", { pageToken: page["nextPageToken"] });
  deepEqual(calls, [
    ["list", { partition: 0, offset: 0 }, 7],
    ["list", { partition: 1, offset: 8 }, 100],
  ]);
  await rejects(ask("ListDeadDetections", { pageToken: "x" }), { code: "REQUEST_INVALID" });
});

test("positions, all, the reason and the operator reach the use case", async () => {
  const { ask, calls } = fakes();
  const answer = await ask("ReplayDeadDetections", { positions: ["0:1", "2:3", "0:1"] });
  deepEqual(answer, { count: "1", missing: [], notKept: ["0:9"], more: true });
  await ask("DropDeadDetections", { all: true, reason: "why" });
  const positions = [
    { partition: 0, offset: 1 },
    { partition: 2, offset: 3 },
  ];
  deepEqual(calls, [
    ["replay", positions, { by: "ana", reason: "" }],
    ["drop", "all", { by: "ana", reason: "why" }],
  ]);
});

test("a request that is not clear is refused with every problem", async () => {
  const { ask, calls } = fakes();
  await rejects(ask("DropDeadDetections", { positions: ["x"], all: true }), {
    message: /reason is missing.*not both/,
  });
  await rejects(ask("DropDeadDetections", { positions: ["x"], reason: "r" }), {
    message: /"x" is not a position such as "0:17"/,
  });
  await rejects(ask("ReplayDeadDetections", {}), { message: /give positions, or all/ });
  const many = Array.from({ length: 101 }, (_, nth) => `0:${nth}`);
  await rejects(ask("ReplayDeadDetections", { positions: many }), { message: /limit is 100/ });
  equal(calls.length, 0);
});
