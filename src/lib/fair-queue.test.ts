import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../tests/support/virtual-clock.ts";
import { FairQueue } from "./fair-queue.ts";

const NEVER = new AbortController().signal;

/** Tasks that end on command and record when they start. */
class Tasks {
  readonly begun: string[] = [];
  readonly #ends: (() => void)[] = [];

  task(name: string): () => Promise<string> {
    return async () => {
      this.begun.push(name);
      await new Promise<void>((resolve) => this.#ends.push(resolve));
      return name;
    };
  }

  async end(): Promise<void> {
    this.#ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("O6: one key with many tasks delays another key by one task", async () => {
  const queue = new FairQueue(new VirtualClock(0), 1);
  const tasks = new Tasks();
  for (const name of ["a1", "a2", "a3", "a4"]) void queue.run("a", 1e9, NEVER, tasks.task(name));
  void queue.run("b", 1e9, NEVER, tasks.task("b1"));
  deepEqual([queue.running, queue.queued], [1, 4]);
  for (let i = 0; i < 5; i++) await tasks.end();
  deepEqual(tasks.begun, ["a1", "a2", "b1", "a3", "a4"]);
  deepEqual([queue.running, queue.queued], [0, 0]);
});

test("a task that would wait too long is refused on arrival", async () => {
  const clock = new VirtualClock(0);
  const queue = new FairQueue(clock, 1);
  const tasks = new Tasks();
  for (let i = 0; i < 100; i++) {
    const done = queue.run("a", 0, NEVER, tasks.task("warm"));
    await clock.advance(100);
    await tasks.end();
    await done;
  }
  const first = queue.run("a", 0, NEVER, tasks.task("first"));
  equal(await queue.run("a", 50, NEVER, tasks.task("late")), undefined);
  const second = queue.run("a", 1_000, NEVER, tasks.task("second"));
  await tasks.end();
  await tasks.end();
  deepEqual([await first, await second], [{ result: "first" }, { result: "second" }]);
});

test("the estimate follows how fast tasks end while others wait, not only how long they take", async () => {
  const clock = new VirtualClock(0);
  const queue = new FairQueue(clock, 100);
  const tasks = new Tasks();
  const running = Array.from({ length: 400 }, () => queue.run("a", 1e9, NEVER, tasks.task("a")));
  // By their duration alone, a hundred at a time, the next one would wait 40 ms for 300.
  for (let i = 0; i < 300; i++) {
    await clock.advance(10);
    await tasks.end();
  }
  await Promise.all(running.slice(0, 300));
  const more = Array.from({ length: 50 }, () => queue.run("a", 1e9, NEVER, tasks.task("a")));
  ok(queue.expectedWaitMs("a") > 300, `${queue.expectedWaitMs("a")} ms`);
  equal(await queue.run("a", 300, NEVER, tasks.task("late")), undefined);
  for (let i = 0; i < 150; i++) await tasks.end();
  await Promise.all([...running, ...more]);
});

test("O3: a task that has waited too long is refused when its turn comes, and the next one runs", async () => {
  const clock = new VirtualClock(0);
  const queue = new FairQueue(clock, 1);
  const tasks = new Tasks();
  const first = queue.run("a", 100, NEVER, tasks.task("first"));
  const late = queue.run("a", 100, NEVER, tasks.task("late"));
  const patient = queue.run("a", 1e9, NEVER, tasks.task("patient"));
  await clock.advance(150);
  await tasks.end();
  equal(await late, undefined);
  await tasks.end();
  deepEqual([await first, await patient], [{ result: "first" }, { result: "patient" }]);
  deepEqual([queue.running, queue.queued], [0, 0]);
});

test("a task that is aborted while it waits makes room and never runs", async () => {
  const queue = new FairQueue(new VirtualClock(0), 1);
  const tasks = new Tasks();
  const leaving = new AbortController();
  const first = queue.run("a", 1e9, NEVER, tasks.task("first"));
  const gone = queue.run("b", 1e9, leaving.signal, tasks.task("gone"));
  leaving.abort(new Error("left"));
  await rejects(gone, /left/);
  equal(queue.queued, 0);
  await tasks.end();
  await first;
  deepEqual(tasks.begun, ["first"]);
});

test("no more run at a time than allowed, in the order they came, and a failure gives its place on", async () => {
  const queue = new FairQueue(new VirtualClock(0), 2);
  const ends: (() => void)[] = [];
  const began: number[] = [];
  let running = 0;
  let most = 0;
  const all = Array.from({ length: 7 }, (_, i) =>
    queue.runWhenFree("a", async () => {
      began.push(i);
      most = Math.max(most, ++running);
      await new Promise<void>((end) => ends.push(end));
      running--;
      if (i % 3 === 0) throw new Error(`${i} fails`);
      return i;
    }),
  );
  const settled = Promise.allSettled(all);
  while (ends.length > 0) {
    ends.shift()?.();
    // A caller that waits is let in by promises alone.
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  }
  const outcomes = await settled;
  equal(most, 2);
  deepEqual(began, [0, 1, 2, 3, 4, 5, 6]);
  equal(outcomes.filter(({ status }) => status === "rejected").length, 3);
  equal(await queue.runWhenFree("a", () => Promise.resolve("again")), "again");
});
