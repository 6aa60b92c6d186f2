/**
 * What tests may need besides the packages, and whether this machine has it.
 *
 * A test file says so in its opening comment: `@needs cc`. On a machine without it the file is left
 * out and named in the last lines of the run, never skipped silently.
 *
 * `@needs cassandra` and `@needs kafka` also start that service for the whole run; a file that
 * starts its own says `@needs java` and runs alone.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { findChromium } from "./find-chromium.ts";
import { findGo } from "./find-go.ts";
import { missingTools } from "./services/find-java.ts";

interface Component {
  readonly what: string;
  readonly found: () => boolean;
  readonly howToGetIt: () => string;
}

/** Cassandra and Kafka are fetched by the one and run by the other. */
const SERVICE: Component = {
  what: "Java 17 and Maven",
  found: () => missingTools() === undefined,
  howToGetIt: () => missingTools() ?? "",
};

const COMPONENTS: Readonly<Record<string, Component>> = {
  cc: {
    what: "a C compiler (cc)",
    found: () => isOnPath("cc"),
    howToGetIt: () => "install gcc or clang",
  },
  chromium: {
    what: "Chromium",
    found: () => findChromium() !== undefined,
    howToGetIt: () =>
      "install chromium (Debian: apt-get install chromium-headless-shell), or set CHROMIUM",
  },
  curl: {
    what: "curl",
    found: () => isOnPath("curl"),
    howToGetIt: () => "install curl",
  },
  go: {
    what: "Go 1.21 or later",
    found: () => findGo() !== undefined,
    howToGetIt: () => "install it from https://go.dev/dl",
  },
  prometheus: {
    what: "Prometheus and its promtool",
    found: () => isOnPath("prometheus") && isOnPath("promtool"),
    howToGetIt: () => "install prometheus (Debian and Ubuntu: apt-get install prometheus)",
  },
  promtool: {
    what: "Prometheus's promtool",
    found: () => isOnPath("promtool"),
    howToGetIt: () => "install prometheus (Debian and Ubuntu: apt-get install prometheus)",
  },
  python: {
    what: "Python 3.9 or later with pip",
    found: hasPip,
    howToGetIt: () => "install python3 and pip (Debian and Ubuntu: apt-get install python3-pip)",
  },
  systemd: {
    what: "systemd-analyze",
    found: () => isOnPath("systemd-analyze"),
    howToGetIt: () => "install systemd",
  },
  tmpfs: {
    what: "the right to mount a small disk (tmpfs)",
    found: canMount,
    howToGetIt: () => "run as root on Linux",
  },
  java: SERVICE,
  cassandra: SERVICE,
  kafka: SERVICE,
};

/** What the opening comment of a test file asks for. */
export function needsOf(source: string): string[] {
  return [...source.matchAll(/^\s*(?:\/\*\*|\*|\/\/).*@needs (\S+)/gm)].map(
    ([, name = ""]) => name,
  );
}

/** Why a test file with these needs cannot run here, or undefined if it can. */
export function reasonNotToRun(needs: readonly string[]): string | undefined {
  for (const name of needs) {
    const component = COMPONENTS[name];
    if (component === undefined) throw new Error(`@needs ${name}: see scripts/components.ts`);
    if (!component.found()) {
      return `needs ${component.what}, which is not here: ${component.howToGetIt()}`;
    }
  }
  return undefined;
}

function hasPip(): boolean {
  const check = "import sys, pip; assert sys.version_info >= (3, 9)";
  return spawnSync("python3", ["-c", check], { stdio: "ignore" }).status === 0;
}

function canMount(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  const folder = mkdtempSync(join(tmpdir(), "braid-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], { stdio: "ignore" });
    execFileSync("umount", [folder], { stdio: "ignore" });
    return true;
  } catch {
    return false; // A container's root may not.
  } finally {
    rmdirSync(folder);
  }
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
