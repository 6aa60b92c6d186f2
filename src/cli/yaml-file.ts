/** Reads a YAML or JSON file that the command line names. */
import { unreadableFile, UsageError } from "./failures.ts";

/** JSON is also YAML. `flag`: what named the file, for the message. */
export async function readYaml(flag: string, path: string): Promise<unknown> {
  const { readFile } = await import("node:fs/promises");
  const { parse } = await import("yaml");
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw unreadableFile(path, error);
  }
  try {
    return parse(text) as unknown;
  } catch (error) {
    throw new UsageError(`${flag} ${path}: ${error instanceof Error ? error.message : ""}`);
  }
}
