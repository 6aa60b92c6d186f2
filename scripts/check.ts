/**
 * All checks that do not run the code: types, lint, form, dead code,
 * generated files, and the rules of the tree. Prints one line for each check that passes.
 */
import { runCommand } from "./run-command.ts";

type Check = readonly [name: string, command: string, ...args: string[]];

const CHECKS: readonly Check[] = [
  ["types", "tsc", "-p", "."],
  ["types of the client", "tsc", "-p", "client", "--noEmit"],
  ["types of the console", "tsc", "-p", "console"],
  ["lint", "oxlint", "--format", "unix"],
  ["form", "prettier", "--check", "--log-level", "warn", "."],
  ["dead code", "knip", "--no-progress"],
  ["generated files", "node", "scripts/generate.ts", "--check"],
  ["configuration reference", "node", "scripts/config-reference.ts", "--check"],
  ["dashboards", "node", "scripts/dashboards.ts", "--check"],
];

const TIDY: Check = ["tidy", "node", "--test", "--test-reporter=dot", "tests/tidy.test.ts"];

export async function runChecks(checks: readonly Check[] = CHECKS): Promise<boolean> {
  const results = await Promise.all(
    checks.map(async ([name, command, ...args]) => ({
      name,
      result: await runCommand(command, args),
    })),
  );
  for (const { name, result } of results) {
    const mark = result.ok ? "ok  " : "FAIL";
    console.log(`${mark} ${name} (${result.seconds.toFixed(1)} s)`);
    if (!result.ok) console.log(result.output);
  }
  return results.every(({ result }) => result.ok);
}

if (import.meta.main) process.exitCode = (await runChecks([...CHECKS, TIDY])) ? 0 : 1;
