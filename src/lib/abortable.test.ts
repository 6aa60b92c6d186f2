import { equal, rejects } from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { abortable } from "./abortable.ts";

test("work that ends first gives its result, and leaves nothing on the signal", async () => {
  const { signal } = new AbortController();
  equal(await abortable(Promise.resolve(7), signal), 7);
  await rejects(abortable(Promise.reject(new Error("no")), signal), { message: "no" });
  equal(getEventListeners(signal, "abort").length, 0);
});

test("an abort ends the wait, also one that came before", async () => {
  const left = new AbortController();
  const never = new Promise(() => undefined);
  const waiting = abortable(never, left.signal);
  left.abort(new Error("left"));
  await rejects(waiting, { message: "left" });
  await rejects(abortable(never, left.signal), { message: "left" });
});
