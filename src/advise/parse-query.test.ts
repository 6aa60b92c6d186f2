import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { Problems } from "../lib/problems.ts";
import { DAY_MICROS } from "./limits.ts";
import { parseQueryFile, parseQueryText } from "./parse-query.ts";

test("a query as text has columns, a range, an order, a limit and a frequency", () => {
  const problems = new Problems();
  const text = "video_id, device; last 7d; newest 100; x5; busy";
  deepEqual(parseQueryText(text, problems), {
    name: text,
    given: ["video_id", "device"],
    rangeMicros: 7 * DAY_MICROS,
    anchor: "LATEST",
    order: "NEWEST_FIRST",
    limit: 100,
    frequency: 5,
    keys: "BUSY",
  });
  const other = parseQueryText("video_id; any 1d; oldest; limit 10", problems);
  deepEqual([other.anchor, other.order, other.limit], ["ANY", "OLDEST_FIRST", 10]);
  equal(parseQueryText("video_id; unordered", problems).order, "NONE");
  equal(problems.count, 0);
});

test("a part of a query that is not understood is a problem, and never left out", () => {
  const parts =
    "newest 0.5|newest -1|newest 5 6|newest 1e999|limit|busy keys|unordered 5|x0|x|last|soon";
  for (const part of parts.split("|")) {
    const problems = new Problems();
    parseQueryText(`video_id; ${part}`, problems);
    equal(problems.count, 1, part);
  }
  const problems = new Problems();
  parseQueryFile("q.yaml", [{ given: "a", limit: [1], frequency: Infinity }], problems);
  equal(problems.count, 2);
});

test("a file has the same, and all its problems are reported", () => {
  const problems = new Problems();
  const [query] = parseQueryFile(
    "q.yaml",
    [{ given: "a, b", range: "1d", anchor: "any", order: "none", keys: "busy", frequency: 2 }],
    problems,
  );
  equal(problems.count, 0);
  deepEqual([query?.given, query?.rangeMicros], [["a", "b"], DAY_MICROS]);
  deepEqual([query?.anchor, query?.order, query?.keys], ["ANY", "NONE", "BUSY"]);
  parseQueryFile("q.yaml", [{ range: "long", order: "up", limit: 0, colour: 1 }], problems);
  equal(problems.count, 5);
  match(problems.list().join("\n"), /colour is not one of name, given/);
  const words = new Problems();
  parseQueryFile("q.yaml", [{ given: "a", anchor: "soon", keys: "all" }], words);
  equal(words.count, 2);
  match(words.list().join(), /anchor must be latest or any[^]*keys must be every or busy/);
  parseQueryFile("q.yaml", {}, problems);
  match(problems.list().join("\n"), /give a list of 1 to 50 queries/);
});
