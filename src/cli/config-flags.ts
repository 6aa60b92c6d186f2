/**
 * The command-line flags for the settings of a process, shared by `serve`, `worker` and `config`.
 */
import process from "node:process";
import type { Command } from "commander";
import { ServiceError } from "../lib/errors.ts";
import type { LoadedConfig } from "../server/config.ts";
import { EXIT, ExitError } from "./failures.ts";
import { printable } from "./print.ts";
import type { Terminal } from "./terminal.ts";

export interface ConfigFlags {
  readonly listen?: string;
  readonly data?: string;
  readonly config?: string;
  readonly engine?: string;
  readonly queue?: string;
  readonly insecureListen?: boolean;
  readonly logLevel?: string;
}

export function addConfigFlags(command: Command): Command {
  return command
    .option("--listen <address>", "address and port, or BRAID_LISTEN; port 0 takes a free one")
    .option("--data <directory>", "where events are kept, or BRAID_DATA")
    .option("--config <file>", "settings, or BRAID_CONFIG (default: braid.yaml if there is one)")
    .option("--engine <name>", "embedded or cassandra, or BRAID_ENGINE")
    .option("--queue <name>", "embedded or kafka, or BRAID_QUEUE")
    .option("--insecure-listen", "listen where other machines can reach it")
    .option("--log-level <level>", "debug, info, warn, error or silent, or BRAID_LOG_LEVEL");
}

/** Reports all problems at once; the command then ends with the exit code for wrong usage. */
export async function configOf(
  flags: ConfigFlags,
  terminal: Terminal,
  defaults?: { readonly listen: string },
): Promise<LoadedConfig> {
  const { loadConfig } = await import("../server/config.ts");
  const { listen, data, engine, queue, insecureListen, logLevel } = flags;
  try {
    return await loadConfig({
      flags: { listen, data, engine, queue, insecure_listen: insecureListen, log_level: logLevel },
      file: flags.config,
      env: terminal.env,
      cwd: process.cwd(),
      defaults,
    });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const lines = error.message.split("\n").map(printable);
    terminal.note(`braid: ${lines.join("\n")}\n`);
    throw new ExitError(EXIT.usage);
  }
}
