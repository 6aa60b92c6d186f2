/** What the tree depends on: every version is fixed, with its checksum, and none runs code when it is installed. */
import { deepEqual, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

interface Lockfile {
  readonly packages: Readonly<Record<string, { integrity?: string; version?: string }>>;
}

/** In the tree itself: a package that downloads nothing of others. */
const OWN = ["", "node_modules/packaged-node", "scripts/packaged-node"];

test("M8, Z24: every package has one version and a checksum of it", () => {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as Lockfile;
  const all = Object.entries(packages).filter(([path]) => !OWN.includes(path));
  ok(all.length > 100);
  for (const [path, { integrity = "", version = "" }] of all) {
    match(integrity, /^sha512-[A-Za-z0-9+/]{86}==$/, path);
    match(version, /^\d+\.\d+\.\d+/, path);
  }
});

test("Z24: whatever installs packages takes those of the lockfile and runs no scripts of theirs", () => {
  const files = ["scripts/setup.sh", "Dockerfile", "bin/braid"];
  const installs = files.flatMap((path) =>
    readFileSync(path, "utf8")
      .split("\n")
      // What is printed for people is no install.
      .filter((line) => /\bnpm (?:ci|i|install|add)\b/.test(line) && !line.includes("echo "))
      .map((line) => `${path}: ${line.trim()}`),
  );
  ok(installs.length >= 3, installs.join("\n"));
  const loose = installs.filter((line) => !/\bnpm ci\b.* --ignore-scripts\b/.test(line));
  deepEqual(loose, []);
});
