/**
 * `npm run planted [-- NAME...]`: puts known defects back, one at a time, in a copy of the tree,
 * and reports what finds each. A defect is `tests/planted/NAME.patch`: lines that say what it is, a
 * line `Tests: FILE...` or a line `Worlds: KIND FIRST+COUNT` with the seeds of simulated worlds, and
 * a patch. Fails if a patch does not apply, or if no test and no world fails under it.
 */
import { execFileSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { copyTree } from "./tree-copy.ts";

const FOLDER = "tests/planted";
const names = process.argv.slice(2);
const all = (await readdir(FOLDER)).filter((name) => name.endsWith(".patch")).toSorted();
const chosen =
  names.length === 0 ? all : names.map((name) => `${name.replace(/\.patch$/, "")}.patch`);

await using tree = await copyTree();
let missed = 0;
for (const name of chosen) {
  const patch = resolve(FOLDER, name);
  const text = await readFile(join(FOLDER, name), "utf8");
  const files = /^Tests: (?<files>.+)$/m.exec(text)?.groups?.["files"]?.split(" ") ?? [];
  const worlds = /^Worlds: (?<kind>\w+) (?<seed>\d+)\+(?<count>\d+)$/m.exec(text)?.groups;
  const apply = (...flags: string[]): void =>
    void execFileSync("patch", ["--silent", "-p1", ...flags, "-i", patch], { cwd: tree.root });
  apply();
  const { passed, failed } =
    worlds === undefined
      ? await tree.runTests(files)
      : await tree.runWorlds(worlds["kind"] ?? "", worlds["seed"] ?? "", worlds["count"] ?? "");
  apply("--reverse");
  if (passed) missed++;
  process.stdout.write(`${passed ? "NOT FOUND" : "found"}  ${name}  ${passed ? "" : failed[0]}\n`);
}
process.stdout.write(`${chosen.length - missed} of ${chosen.length} found\n`);
process.exitCode = missed === 0 && chosen.length > 0 ? 0 : 1;
