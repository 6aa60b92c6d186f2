/** `braid doctor`: names a remedy for each problem of a namespace's partitions. */
import type { Command } from "commander";
import type { Remedy } from "../../client/connect.ts";
import { line } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { emit } from "./output.ts";
import { printable } from "./print.ts";
import type { Terminal } from "./terminal.ts";

export function addDoctor(program: Command, terminal: Terminal): void {
  program
    .command("doctor <namespace>")
    .description("look at sizes, splits and tunings, and name a remedy for each problem")
    .addHelpText("after", "\nExample:\n  $ braid doctor plays")
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const client = clientFor(options, terminal);
      const remedies = await client.getRemedies(namespace, { signal: terminal.interrupted });
      const blocks = remedies.flatMap(remedyBlocks);
      await emit(terminal, options, { value: { remedies }, records: remedies, blocks });
    });
}

function remedyBlocks({ problem, remedy, why, command }: Remedy): Block[] {
  return [
    line(`${remedy.padEnd(8)} ${printable(problem)}`),
    line(`         ${printable(why)}`),
    ...(command === "" ? [] : [line(`         $ ${printable(command)}`)]),
  ];
}
