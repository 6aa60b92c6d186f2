/** `braid serve`: the server itself, in this process. */
import process from "node:process";
import type { Command } from "commander";
import { addConfigFlags, configOf } from "./config-flags.ts";
import type { ConfigFlags } from "./config-flags.ts";
import { ExitError } from "./failures.ts";
import type { Terminal } from "./terminal.ts";

export function addServe(program: Command, terminal: Terminal): void {
  addConfigFlags(program.command("serve"))
    .description("run the server: gRPC, HTTP/JSON and metrics on one port")
    .addHelpText(
      "after",
      "\nExample:\n  $ braid serve\n  $ braid serve --listen 127.0.0.1:9100 --data /var/lib/braid",
    )
    .action(async (_options: unknown, command: Command) => {
      const loaded = await configOf(command.optsWithGlobals<ConfigFlags>(), terminal);
      process.stdout.on("error", goOnUnheard);
      const { serve } = await import("../service/main.ts");
      throw new ExitError(await serve(loaded));
    });
}

/** A server outlives whoever read its first lines. */
function goOnUnheard(error: Error & { code?: string }): void {
  if (error.code !== "EPIPE") throw error;
}
