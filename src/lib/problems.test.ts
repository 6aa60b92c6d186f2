import { deepEqual, equal, throws } from "node:assert/strict";
import { test } from "node:test";
import { Problems } from "./problems.ts";

test("one error lists the first problems and counts the others", () => {
  const problems = new Problems();
  problems.throwIfAny("REQUEST_INVALID");
  for (let i = 0; i < 25; i++) problems.add(`problem ${i}`);
  const listed = Array.from({ length: 20 }, (_, i) => `problem ${i}`);
  deepEqual(problems.list(), [...listed, "and 5 more"]);
  equal(problems.isFull, true);
  throws(() => problems.throwIfAny("REQUEST_INVALID"), {
    code: "REQUEST_INVALID",
    message: /^problem 0; problem 1; .*; problem 19; and 5 more$/,
  });
});

test("a field has one problem, and what is inside a wrong field has none of its own", () => {
  const problems = new Problems();
  problems.add("ids[1] must be an object", "ids[1]");
  problems.add("ids[1].reason is too long", "ids[1].reason");
  problems.add("ids[1] is missing", "ids[1]");
  problems.add("ids[10] is missing", "ids[10]");
  deepEqual(problems.list(), ["ids[1] must be an object", "ids[10] is missing"]);
  equal(problems.sound("ids", "ids[0].reason"), true);
  equal(problems.sound("ids[0]", "ids[1].expireTime"), false);
});

test("a check may name fields by their names inside another field", () => {
  const problems = new Problems();
  problems.add("config.slos must be an object", "config.slos");
  const config = problems.within("config");
  equal(config.sound("slos.read"), false);
  config.add("slos.read is wrong", "slos.read");
  config.add("acceptLimit is wrong", "acceptLimit");
  config.add("both are wrong");
  equal(problems.sound("config.acceptLimit"), false);
  deepEqual(problems.list(), [
    "config.slos must be an object",
    "acceptLimit is wrong",
    "both are wrong",
  ]);
});
