/** Which Braid this is: the version of the package, and the commit that the package was built from. */
import { readFileSync } from "node:fs";

export interface BuildInfo {
  /** Such as `0.1.0`. */
  readonly version: string;
  /** The commit, or `source` where it runs from a clone. */
  readonly build: string;
}

/** Read once. The package is two folders up in a clone, and three up in what `scripts/build.ts` makes. */
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
    return undefined; // Not there, or not ours: the next place is tried.
  }
}
