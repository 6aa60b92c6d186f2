/** `npm run bench -- NAME …` runs `bench/NAME.ts` with the other arguments; without a name it lists them. */
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { basename } from "node:path";

const [name, ...args] = process.argv.slice(2);
const known = globSync("bench/*.ts")
  .map((file) => basename(file, ".ts"))
  .toSorted();

if (name === undefined || !known.includes(name)) {
  console.log(`usage: npm run bench -- NAME, where NAME is one of: ${known.join(", ")}`);
  process.exitCode = 2;
} else {
  const { status } = spawnSync(process.execPath, [`bench/${name}.ts`, ...args], {
    stdio: "inherit",
  });
  process.exitCode = status ?? 1;
}
