/**
 * The package as others get it: packed, put into a project of its own, and used from there by the
 * oldest Node that this machine has. Nothing but the package itself is installed, so this also proves
 * that the client needs no other.
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { accessSync, constants, mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { after, before, test } from "node:test";

const project = mkdtempSync(join(tmpdir(), "braid-package-"));
const installed = join(project, "node_modules", "braid");
let files: string[] = [];

before(() => {
  execFileSync(process.execPath, ["scripts/build.ts"], { stdio: "pipe" });
  const packed = execFileSync(
    "npm",
    ["pack", "--json", "--ignore-scripts", "--offline", "--pack-destination", project],
    { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] },
  );
  const answer = JSON.parse(packed);
  // npm has answered with a list, and with an object by name.
  const [about] = Array.isArray(answer) ? answer : Object.values(answer);
  files = about.files.map((file: { path: string }) => file.path);
  mkdirSync(installed, { recursive: true });
  const tarball = join(project, about.filename);
  execFileSync("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"]);
  writeFileSync(join(project, "package.json"), '{ "type": "module" }');
});

after(() => {
  rmSync(project, { recursive: true, force: true });
});

test("the package holds the program, its contract and its licence, and no tests", () => {
  for (const needed of [
    "LICENSE",
    "README.md",
    "bin/braid",
    "dist/client/connect.js",
    "dist/client/connect.d.ts",
    "dist/src/cli/main.js",
    "proto/braid/v1/event.proto",
  ]) {
    equal(files.includes(needed), true, `${needed} is missing`);
  }
  const unwanted = files.filter((file) => /\.test\.|\.e2e\.|^(?:src|tests|scripts)\//.test(file));
  deepEqual(unwanted, []);
});

test("the client can be imported and used by the oldest Node of this machine", () => {
  const program = `
    import { connect } from "braid";
    const client = connect("http://127.0.0.1:9");
    console.log(process.version, typeof client);
  `;
  const node = oldestNode();
  const said = execFileSync(node, ["--input-type=module", "--eval", program], {
    cwd: project,
    encoding: "utf8",
  });
  match(said, /^v\d+\.\d+\.\d+ object$/m);
});

test("the client's types can be used by a project of its own", () => {
  const program = 'import { connect } from "braid";\nexport const client = connect("http://x");\n';
  writeFileSync(join(project, "index.ts"), program);
  const options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022"];
  // What a project with the types of Node or of the browser has anyway.
  const lib = ["--lib", "es2022,dom,esnext.disposable"];
  execFileSync(resolve("node_modules/.bin/tsc"), [...options, ...lib, "--types", "", "index.ts"], {
    cwd: project,
    stdio: ["ignore", "inherit", "inherit"],
  });
});

/** The machine's own Node, which may be as old as 20; else the one that runs this test. */
function oldestNode(): string {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    const candidate = join(folder, "node");
    try {
      accessSync(candidate, constants.X_OK);
    } catch {
      continue; // Not in this folder.
    }
    if (!folder.includes("node_modules")) return candidate;
  }
  return process.execPath;
}
