/** Finds the Chromium for tests in a browser: $CHROMIUM, or one of the usual names on the path. */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** The smallest first. */
const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

export function findChromium(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const places = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  const chosen = process.env["CHROMIUM"];
  return (chosen === undefined || chosen === "" ? places : [chosen]).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // Not in this folder.
  }
}
