import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { formatCount, quantity } from "./quantity.ts";

test("a quantity has separated thousands and the right number of its noun", () => {
  deepEqual(
    [0, 1, 2, 999, 1_461_243].map((value) => quantity(value, "byte")),
    ["0 bytes", "1 byte", "2 bytes", "999 bytes", "1,461,243 bytes"],
  );
});

test("a count is a whole number", () => {
  equal(formatCount(1_234.6), "1,235");
});
