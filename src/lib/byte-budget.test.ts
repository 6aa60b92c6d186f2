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

test("C20: loans never wait, and have at most half of the budget together", () => {
  const budget = new ByteBudget(100);
  const [one, other] = [budget.borrow(() => undefined), budget.borrow(() => undefined)];
  ok(one.tryGrow(30));
  ok(other.tryGrow(20));
  ok(!one.tryGrow(1));
  equal(budget.used, 50);
  ok(budget.tryTake(45));
  other.shrink(20);
  ok(!other.tryGrow(26), "what was taken is not lent");
  ok(other.tryGrow(20));
  one.shrink(30);
  other.shrink(20);
  equal(budget.used, 45);
});

test("C20: loans are recalled while others wait, the largest first and no more than needed", async () => {
  const budget = new ByteBudget(100);
  const recalled: string[] = [];
  const small = budget.borrow(() => recalled.push("small"));
  const large = budget.borrow(() => recalled.push("large"));
  ok(small.tryGrow(10));
  ok(large.tryGrow(40));
  await budget.take(45, never);
  const waiting = budget.take(30, never);
  deepEqual(recalled, ["large"]);
  ok(!small.tryGrow(1) && !large.tryGrow(1), "nothing is lent while others wait");
  large.shrink(15);
  large.shrink(25);
  await waiting;
  equal(budget.used, 85);
  deepEqual(recalled, ["large"]);
  // More than there is: it is granted when it is alone, so every loan is recalled.
  const alone = budget.take(200, never);
  deepEqual(recalled, ["large", "small"]);
  small.shrink(10);
  budget.give(75);
  await alone;
});
