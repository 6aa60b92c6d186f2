/**
 * Downloads the jars of a service once: `.services/lib/<name>-<version>`.
 *
 * A folder there is complete: Maven fills one with a temporary name, which is renamed at the end.
 * An interrupted download is repeated.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findJava17, findMaven, missingTools } from "./find-java.ts";
import { runTool } from "./run-tool.ts";

/** With the configuration of each service. */
export const SERVICES = fileURLToPath(new URL("../../services", import.meta.url));

/** Everything that is created while they run; not in git. */
export const SERVICES_CACHE = fileURLToPath(new URL("../../.services", import.meta.url));

const COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies";

export interface Artifacts {
  /** The folder with the jars. */
  readonly lib: string;
  /** The path of a Java 17. */
  readonly java: string;
}

export interface FetchOptions {
  /** Leaves the processor to others while they want it. */
  readonly lowPriority?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((line: string) => void) | undefined;
}

export async function fetchArtifacts(
  name: "cassandra" | "kafka",
  version: string,
  { lowPriority, signal, onProgress }: FetchOptions,
): Promise<Artifacts> {
  const java = findJava17();
  const maven = findMaven();
  const lib = join(SERVICES_CACHE, "lib", `${name}-${version}`);
  if (java !== undefined && existsSync(lib)) return { lib, java };
  if (java === undefined || maven === undefined) throw new Error(missingTools());

  onProgress?.(`${name} ${version}: fetching it with Maven (once)`);
  const startedAt = performance.now();
  await mkdir(dirname(lib), { recursive: true });
  const unfinished = await mkdtemp(`${lib}.unfinished-`);
  try {
    const command = [
      ...(lowPriority === true ? ["nice"] : []),
      maven,
      "-q",
      "-B",
      COPY,
      "-f",
      join(SERVICES, name, "pom.xml"),
      `-D${name}.version=${version}`,
      "-DincludeScope=runtime",
      `-DoutputDirectory=${unfinished}`,
    ];
    const env = { JAVA_HOME: dirname(dirname(java)), NO_COLOR: "1" };
    await runTool(`fetching ${name} ${version} with Maven`, command, { env, signal });
    await rename(unfinished, lib).catch((error: unknown) => {
      // Another process was faster: its folder is complete too.
      if (!existsSync(lib)) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  onProgress?.(`${name} ${version}: fetched (${seconds} s)`);
  return { lib, java };
}
