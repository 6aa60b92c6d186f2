/**
 * Every test that this machine can run, after the checks. With arguments only the test files whose
 * path contains one of them, without the checks: `npm test -- src/wire`.
 *
 * The last lines say how many passed and failed, and what could not be run here and why. With
 * BRAID_REQUIRE_ALL=1 what could not be run is a failure too.
 */
import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { run } from "node:test";
import { runChecks } from "./check.ts";
import { reasonNotToRun } from "./components.ts";
import { reportTests } from "./report-tests.ts";

/** The long ones first, so that none of them is left running alone at the end. */
const TEST_FILES = ["tests/**/*.e2e.ts", "tests/**/*.test.ts", "src/**/*.test.ts"];

/** A file that hangs fails after this instead of holding up the run for ever. */
const FILE_MS_MAX = 300_000;

const filters = process.argv.slice(2);
const startedAt = performance.now();

const checked = filters.length > 0 || (await runChecks());

const runnable: string[] = [];
const leftOut: string[] = [];
for (const file of TEST_FILES.flatMap((pattern) => globSync(pattern).toSorted())) {
  if (filters.length > 0 && !filters.some((filter) => file.includes(filter))) continue;
  const reason = reasonNotToRun(readFileSync(file, "utf8"));
  if (reason === undefined) runnable.push(file);
  else leftOut.push(`${file}: ${reason}`);
}

const counts = await reportTests(
  run({ files: runnable, concurrency: availableParallelism(), timeout: FILE_MS_MAX }),
);

const seconds = Math.round((performance.now() - startedAt) / 1000);
if (!checked) console.log("\nchecks failed: see the first lines");
console.log(`\n${counts.passed} passed, ${counts.failed} failed in ${seconds} s`);
if (leftOut.length === 0) console.log("nothing was left out on this machine");
for (const line of leftOut) console.log(`not run: ${line}`);

const requireAll = process.env["BRAID_REQUIRE_ALL"] === "1";
const complete = leftOut.length === 0 || !requireAll;
if (!complete) console.log("BRAID_REQUIRE_ALL=1: what was not run counts as failed");
process.exitCode = checked && complete && counts.failed === 0 && counts.passed > 0 ? 0 : 1;
