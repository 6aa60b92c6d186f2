/**
 * Checks the documents that show the moves of splits and their causes against the table in the
 * code.
 */
import { deepEqual } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { MOVE_CAUSES, REFUSAL_CAUSES } from "../src/model/move-cause.ts";
import { SPLIT_MOVES } from "../src/model/split-moves.ts";
import { SPLIT_STATES } from "../src/model/split.ts";

test("docs/specs/split-records.md shows every move a split may make, and no other", () => {
  const shown = rowsBelow("docs/specs/split-records.md", "## Moves");
  const moves = SPLIT_STATES.flatMap((from) =>
    SPLIT_STATES.flatMap((to) => {
      const causes = SPLIT_MOVES[from][to];
      return causes === undefined ? [] : [[from, to, causes.toSorted().join(" ")]];
    }),
  );
  const refusals = REFUSAL_CAUSES.join(", ");
  deepEqual(
    shown.map(([from, to, causes = ""]) => {
      const listed = causes.replaceAll("`", "").replace("any refusal", refusals).split(", ");
      return [from, to, listed.toSorted().join(" ")];
    }),
    [["none", "DETECTED", "detection operator"], ...moves],
  );
});

test("docs/operate/splits.md explains every cause, and the states it leads to", () => {
  const shown = rowsBelow("docs/operate/splits.md", "## Causes");
  const rows = Object.values(SPLIT_MOVES);
  const statesOf = MOVE_CAUSES.map((cause) => {
    const states = SPLIT_STATES.filter((to) => rows.some((row) => row[to]?.includes(cause)));
    return [`\`${cause}\``, states.join(", ")];
  });
  deepEqual(
    shown.map(([cause, , states]) => [cause, states]),
    statesOf,
  );
});

/** The cells of the first table below a heading, without its header row. */
function rowsBelow(path: string, heading: string): string[][] {
  const [, section = ""] = readFileSync(path, "utf8").split(`${heading}\n`);
  const lines =
    section
      .split("\n## ")[0]
      ?.split("\n")
      .filter((line) => line.startsWith("|")) ?? [];
  return lines.slice(2).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
