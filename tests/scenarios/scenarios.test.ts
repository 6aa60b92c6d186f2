/**
 * Runs the texts beside this file: each is a dialogue with a simulated set of splits, one for each
 * path through the states. Those in `tuning/` are dialogues with a tuner.
 *
 * A step is a line of a command and its arguments (`name=value`, or one without a name), then
 * `----`, then the answer, up to an empty line. Lines that begin with # are for the reader. With
 * BRAID_REWRITE_SCENARIOS set the test writes the answers into the texts instead; review them as
 * prose.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { Scenario } from "./scenario-commands.ts";
import type { Arguments } from "./scenario-commands.ts";
import { TuningScenario } from "./tuning-scenario.ts";

const REWRITE = process.env["BRAID_REWRITE_SCENARIOS"] !== undefined;
const LINE = "----";

const KINDS = [
  { folder: ".", open: () => new Scenario() },
  { folder: "tuning", open: () => new TuningScenario() },
];

for (const { folder, open } of KINDS) {
  for (const path of globSync(join(import.meta.dirname, folder, "*.txt")).toSorted()) {
    test(`scenario ${folder === "." ? "" : `${folder}/`}${basename(path, ".txt")}`, async () => {
      const text = readFileSync(path, "utf8");
      const happened = await answered(text, open());
      if (REWRITE) writeFileSync(path, happened);
      else assert.equal(happened, text);
    });
  }
}

test("an answer that is not the expected one is found", async () => {
  const text = `namespace\n${LINE}\nit is midnight\n`;
  assert.equal(await answered(text, new Scenario()), `namespace\n${LINE}\nit is 12:00:10\n`);
});

interface Dialogue {
  run(command: string, given: Arguments): Promise<string>;
  close(): Promise<void>;
}

/** The text with the actual answers. */
async function answered(text: string, scenario: Dialogue): Promise<string> {
  try {
    const steps: string[] = [];
    for (const step of text.trimEnd().split(/\n\n+/)) {
      const lines = step.split("\n");
      const end = lines.indexOf(LINE);
      const asked = end < 0 ? lines : lines.slice(0, end);
      const command = asked.find((line) => !line.startsWith("#"));
      const answer = command === undefined ? [] : [LINE, await answerTo(scenario, command)];
      steps.push([...asked, ...answer].join("\n"));
    }
    return `${steps.join("\n\n")}\n`;
  } finally {
    await scenario.close();
  }
}

async function answerTo(scenario: Dialogue, line: string): Promise<string> {
  const [command = "", ...words] = line.match(/(?:[^\s"]|"[^"]*")+/g) ?? [];
  const given: Record<string, string> = {};
  for (const word of words) {
    const at = word.indexOf("=");
    given[at < 0 ? "" : word.slice(0, at)] = word.slice(at + 1).replaceAll('"', "");
  }
  const args: Arguments = given;
  try {
    return await scenario.run(command, args);
  } catch (error) {
    return `refused: ${error instanceof Error ? error.message : String(error)}`;
  }
}
