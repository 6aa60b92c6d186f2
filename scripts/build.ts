/** Builds `dist/`, what the package ships: JavaScript and types of all but the tests. */
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { runCommand } from "./run-command.ts";

rmSync("dist", { recursive: true, force: true });
const compiled = await runCommand("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"]);
if (!compiled.ok) console.error(compiled.output);

// The compiler turns `./x.ts` into `./x.js` in the code, but not in the types beside it.
for (const file of globSync("dist/**/*.d.ts")) {
  const types = readFileSync(file, "utf8");
  writeFileSync(file, types.replaceAll(/(from |import\()"(\.[^"]*)\.ts"/g, '$1"$2.js"'));
}

// Generated code is JavaScript with its types already.
cpSync("src/gen", "dist/src/gen", { recursive: true });
process.exitCode = compiled.ok ? 0 : 1;
