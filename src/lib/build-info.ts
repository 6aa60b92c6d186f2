/** The version of the package, and the commit from which it was built. */
import { readFileSync } from "node:fs";

export interface BuildInfo {
  /** For example `0.1.0`. */
  readonly version: string;
  /** The commit, or `source` when it runs from a clone. */
  readonly build: string;
}

/**
 * Read once. The package file is two folders up in a clone, three in the output of
 * `scripts/build.ts`.
 */
export const BUILD_INFO: BuildInfo = Object.freeze({
  version:
    textOf("../../package.json", "version") ?? textOf("../../../package.json", "version") ?? "",
  build: textOf("../../build.json", "commit") ?? "source",
});

function textOf(path: string, field: string): string | undefined {
  try {
    const read: unknown = JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));
    const value: unknown =
      typeof read === "object" && read !== null ? Reflect.get(read, field) : "";
    return typeof value === "string" && value !== "" ? value : undefined;
  } catch {
    return undefined; // Missing, or not ours: the caller tries the next location.
  }
}
