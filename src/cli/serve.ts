/** `braid serve` and `braid worker`: the program itself, in this process. */
import process from "node:process";
import type { Command } from "commander";
import { addConfigFlags, configOf } from "./config-flags.ts";
import type { ConfigFlags } from "./config-flags.ts";
import { ExitError, UsageError } from "./failures.ts";
import type { Terminal } from "./terminal.ts";

export function addServe(program: Command, terminal: Terminal): void {
  addConfigFlags(program.command("serve"))
    .description("run the server: gRPC, HTTP/JSON and metrics on one port")
    .addHelpText(
      "after",
      "\nExample:\n  $ braid serve\n  $ braid serve --listen 127.0.0.1:9100 --data /var/lib/braid" +
        "\n  $ braid serve --engine cassandra --queue kafka",
    )
    .action(async (_options: unknown, command: Command) => {
      const loaded = await configOf(command.optsWithGlobals<ConfigFlags>(), terminal);
      process.stdout.on("error", goOnUnheard);
      const { serve } = await import("../server/main.ts");
      throw new ExitError(await serve(loaded));
    });
}

export function addWorker(program: Command, terminal: Terminal): void {
  addConfigFlags(program.command("worker"))
    .description("run a worker: it splits partitions for servers on the same Cassandra and Kafka")
    .addHelpText(
      "after",
      `
It needs an engine and a queue that processes can share. Its port (default 127.0.0.1:8421) has health
and metrics only. Start as many as you like: they share the work.

Example:
  $ braid worker --engine cassandra --queue kafka --listen 127.0.0.1:0`,
    )
    .action(async (_options: unknown, command: Command) => {
      const flags = command.optsWithGlobals<ConfigFlags>();
      const loaded = await configOf(flags, terminal, { listen: "127.0.0.1:8421" });
      const { engine, queue } = loaded.config;
      if (engine === "embedded" || queue === "embedded") {
        throw new UsageError(
          `a worker shares its work with other processes, but only one process can use engine ${engine} with queue ${queue}: ` +
            "use --engine cassandra --queue kafka. With the embedded ones, `braid serve` does the work itself",
        );
      }
      process.stdout.on("error", goOnUnheard);
      const { work } = await import("../server/main.ts");
      throw new ExitError(await work(loaded));
    });
}

/** A server keeps running when the reader of its output has ended. */
function goOnUnheard(error: Error & { code?: string }): void {
  if (error.code !== "EPIPE") throw error;
}
