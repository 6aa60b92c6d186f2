import { equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { compareAndSet, LOST, tryCompareAndSet } from "./compare-and-set.ts";
import type { Lost } from "./compare-and-set.ts";

/** An attempt that loses `times` times and then gives a result. */
function losing(times: number) {
  const attempts = { count: 0 };
  const attempt = async (): Promise<string | undefined | Lost> =>
    attempts.count++ < times ? LOST : "done";
  return { attempts, attempt };
}

test("attempts are repeated until one is not lost", async () => {
  const { attempts, attempt } = losing(3);
  equal(await compareAndSet({ message: "busy" }, attempt), "done");
  equal(attempts.count, 4);
});

test("a result of undefined is a result", async () => {
  let count = 0;
  const attempt = async (): Promise<undefined> => {
    count++;
    return undefined;
  };
  equal(await compareAndSet({ message: "busy" }, attempt), undefined);
  equal(count, 1);
});

test("twenty losses are a CONFLICT that says when to try again", async () => {
  const { attempts, attempt } = losing(Infinity);
  await rejects(compareAndSet({ message: "busy", details: { namespace: "plays" } }, attempt), {
    code: "CONFLICT",
    message: "busy",
    details: { namespace: "plays" },
    retryAfterMs: 1_000,
  });
  equal(attempts.count, 20);
});

test("a caller that can do without the change gets LOST, after as many attempts as it allows", async () => {
  const { attempts, attempt } = losing(Infinity);
  equal(await tryCompareAndSet(attempt, 3), LOST);
  equal(attempts.count, 3);
});

test("an error ends the loop at once", async () => {
  let count = 0;
  const failing = async (): Promise<Lost> => {
    count++;
    throw new Error("away");
  };
  await rejects(compareAndSet({ message: "busy" }, failing), /away/);
  equal(count, 1);
});
