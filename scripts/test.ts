/**
 * Every test that this machine can run, after the checks. With arguments only the test files whose
 * path contains one of them, without the checks: `npm test -- src/wire`.
 *
 * Four rounds: first what needs no service, while Cassandra and Kafka get up in the background; then
 * what builds Go programs; then what shares those two services; last, one after another, what starts
 * clusters of its own. Only what
 * the chosen files need is started, and all of it is stopped.
 *
 * The last lines say how many passed and failed, and what could not be run here and why. With
 * BRAID_REQUIRE_ALL=1 what could not be run is a failure too.
 */
import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { run } from "node:test";
import { buildConsole, consoleIsStale } from "./build-console.ts";
import { runChecks } from "./check.ts";
import { needsOf, reasonNotToRun } from "./components.ts";
import { TestReport } from "./report-tests.ts";
import { beginTestServices } from "./services/test-services.ts";

/** The long ones first, so that none of them is left running alone at the end. */
const TEST_FILES = ["tests/**/*.e2e.ts", "tests/**/*.test.ts", "{src,client,console}/**/*.test.ts"];

/** A file that hangs fails after this instead of holding up the run for ever. */
const FILE_MS_MAX = 300_000;
/**
 * One with real services, that starts and restarts whole clusters, or that builds a Go program for
 * the first time takes longer.
 */
const LONG_FILE_MS_MAX = 900_000;

const filters = process.argv.slice(2);
const startedAt = performance.now();

const rounds = {
  plain: [] as string[],
  built: [] as string[],
  shared: [] as string[],
  alone: [] as string[],
};
const wanted = new Set<string>();
const leftOut: string[] = [];
for (const file of TEST_FILES.flatMap((pattern) => globSync(pattern).toSorted())) {
  if (filters.length > 0 && !filters.some((filter) => file.includes(filter))) continue;
  const needs = needsOf(readFileSync(file, "utf8"));
  const reason = reasonNotToRun(needs);
  if (reason !== undefined) leftOut.push(`${file}: ${reason}`);
  else {
    rounds[roundOf(needs)].push(file);
    for (const need of needs) wanted.add(need);
  }
}

const services = beginTestServices(wanted);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    void services.stop().finally(() => process.exit(130));
  });
}

// Once, before files that need it run side by side.
if (wanted.has("chromium") && consoleIsStale()) await buildConsole();

const report = new TestReport();
const checked = filters.length > 0 || (await runChecks());
await runFiles(rounds.plain, availableParallelism(), FILE_MS_MAX);
await runFiles(rounds.built, availableParallelism(), LONG_FILE_MS_MAX);
const served = await servicesReady();
if (served) await runFiles(rounds.shared, availableParallelism(), LONG_FILE_MS_MAX);
await services.stop();
await runFiles(rounds.alone, 1, LONG_FILE_MS_MAX);

report.printFailures();
const seconds = Math.round((performance.now() - startedAt) / 1000);
if (!checked) console.log("\nchecks failed: see the first lines");
if (!served) console.log(`\nfailed with their services: ${rounds.shared.join(", ")}`);
console.log(`\n${report.passed} passed, ${report.failed} failed in ${seconds} s`);
if (leftOut.length === 0) console.log("nothing was left out on this machine");
for (const line of leftOut) console.log(`not run: ${line}`);

const requireAll = process.env["BRAID_REQUIRE_ALL"] === "1";
const complete = leftOut.length === 0 || !requireAll;
if (!complete) console.log("BRAID_REQUIRE_ALL=1: what was not run counts as failed");
const passed = report.failed === 0 && report.passed > 0;
process.exitCode = checked && served && complete && passed ? 0 : 1;

function roundOf(needs: readonly string[]): keyof typeof rounds {
  if (needs.includes("java")) return "alone";
  if (needs.includes("go")) return "built";
  return needs.includes("cassandra") || needs.includes("kafka") ? "shared" : "plain";
}

async function runFiles(files: string[], concurrency: number, timeout: number): Promise<void> {
  if (files.length > 0) await report.follow(run({ files, concurrency, timeout }));
}

async function servicesReady(): Promise<boolean> {
  try {
    await services.untilReady();
    return true;
  } catch (error) {
    console.log(`FAIL services\n${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
}
