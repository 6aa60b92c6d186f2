import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { KeyedMutex } from "./keyed-mutex.ts";

test("work of one key runs one at a time, in the order of the calls", async () => {
  const mutex = new KeyedMutex();
  const seen: string[] = [];
  const first = Promise.withResolvers<void>();
  const work = (name: string, until: Promise<void>) => async (): Promise<string> => {
    seen.push(`${name} begins`);
    await until;
    seen.push(`${name} ends`);
    return name;
  };
  const results = ["a", "b", "c"].map((name) =>
    mutex.run("key", work(name, name === "a" ? first.promise : Promise.resolve())),
  );
  await Promise.resolve();
  deepEqual(seen, ["a begins"]);
  first.resolve();
  deepEqual(await Promise.all(results), ["a", "b", "c"]);
  deepEqual(seen, ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
});

test("work of another key does not wait", async () => {
  const mutex = new KeyedMutex();
  const held = Promise.withResolvers<void>();
  const holder = mutex.run("one", () => held.promise);
  equal(await mutex.run("other", async () => "done"), "done");
  held.resolve();
  await holder;
});

test("a failure is reported to its caller only, and the next work runs", async () => {
  const mutex = new KeyedMutex();
  const failing = mutex.run("key", async () => {
    throw new Error("no");
  });
  const next = mutex.run("key", async () => "done");
  await rejects(failing, /no/);
  equal(await next, "done");
});

test("a key is locked from its first call until the last has ended, and then forgotten", async () => {
  const mutex = new KeyedMutex();
  const held = Promise.withResolvers<void>();
  equal(mutex.isLocked("key"), false);
  const first = mutex.run("key", () => held.promise);
  const second = mutex.run("key", async () => undefined);
  equal(mutex.isLocked("key"), true);
  let ended = false;
  const all = mutex.ended().then(() => (ended = true));
  await Promise.resolve();
  equal(ended, false);
  held.resolve();
  await Promise.all([first, second, all]);
  equal(mutex.isLocked("key"), false);
});
