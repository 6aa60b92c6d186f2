/**
 * What a test may need beyond the packages, and whether this machine has it.
 *
 * A test file says so in its opening comment: `@needs cc`. On a machine without it the file is left
 * out and named in the last lines of the run, never skipped in silence.
 */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

interface Component {
  readonly what: string;
  readonly found: () => boolean;
  readonly howToGetIt: string;
}

const COMPONENTS: Readonly<Record<string, Component>> = {
  cc: {
    what: "a C compiler (cc)",
    found: () => isOnPath("cc"),
    howToGetIt: "install gcc or clang",
  },
  curl: {
    what: "curl",
    found: () => isOnPath("curl"),
    howToGetIt: "install curl",
  },
};

/** Why a test file cannot run here, or undefined if it can. */
export function reasonNotToRun(source: string): string | undefined {
  for (const [, name = ""] of source.matchAll(/^\s*(?:\/\*\*|\*|\/\/).*@needs (\S+)/gm)) {
    const component = COMPONENTS[name];
    if (component === undefined) throw new Error(`@needs ${name}: see scripts/components.ts`);
    if (!component.found()) {
      return `needs ${component.what}, which is not here: ${component.howToGetIt}`;
    }
  }
  return undefined;
}

function isOnPath(command: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK);
      return true;
    } catch {
      return false; // Not in this folder.
    }
  });
}
