import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ByteBudget } from "./byte-budget.ts";

const never = new AbortController().signal;

test("callers wait in order and get their bytes when there is room", async () => {
  const budget = new ByteBudget(10);
  const order: string[] = [];
  await budget.take(8, never);
  const large = budget.take(5, never).then(() => order.push("large"));
  const small = budget.take(1, never).then(() => order.push("small"));
  ok(!budget.tryTake(1), "a caller that may not wait does not overtake one that waits");
  equal(budget.used, 8);
  budget.give(8);
  await Promise.all([large, small]);
  deepEqual(order, ["large", "small"]);
  equal(budget.used, 6);
});

test("a request above the whole budget is granted alone", async () => {
  const budget = new ByteBudget(10);
  ok(budget.tryTake(100));
  ok(!budget.tryTake(1));
  budget.give(100);
  ok(budget.tryTake(1));
  ok(!budget.tryTake(100));
});

test("a caller that stops waiting takes nothing and lets the next one in", async () => {
  const budget = new ByteBudget(10);
  await budget.take(6, never);
  const leaving = new AbortController();
  const large = budget.take(9, leaving.signal);
  const small = budget.take(2, never);
  leaving.abort(new Error("left"));
  await rejects(large, /left/);
  await small;
  equal(budget.used, 8);
  await rejects(budget.take(1, AbortSignal.abort(new Error("gone"))), /gone/);
});
