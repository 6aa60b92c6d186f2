/**
 * `braid config`: the configuration a server would run with here, and where each value comes from.
 */
import type { Command } from "commander";
import { table } from "./blocks.ts";
import { addConfigFlags, configOf } from "./config-flags.ts";
import type { ConfigFlags } from "./config-flags.ts";
import type { GlobalOptions } from "./connection.ts";
import { emit } from "./output.ts";
import { printable } from "./print.ts";
import type { Terminal } from "./terminal.ts";

interface Described {
  readonly settings?: boolean;
}

export function addConfig(program: Command, terminal: Terminal): void {
  addConfigFlags(program.command("config"))
    .description("print the effective configuration and the origin of every value")
    .option("--settings", "describe every setting instead: default, values and meaning")
    .addHelpText(
      "after",
      "\nEvery setting: docs/operate/configuration.md, or braid config --settings\n" +
        "\nExample:\n  $ BRAID_LISTEN=127.0.0.1:9100 braid config\n  $ braid config --settings",
    )
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & ConfigFlags & Described>();
      if (options.settings === true) return await describeSettings(terminal, options);
      const { settings, warnings } = await configOf(options, terminal);
      for (const warning of warnings) terminal.note(`braid: ${printable(warning)}\n`);
      const rows = settings.map(({ path, value, origin }) => [path, value, origin]);
      const blocks = [table(["SETTING", "VALUE", "ORIGIN"], rows)];
      await emit(terminal, options, { value: { settings }, records: settings, blocks });
    });
}

async function describeSettings(terminal: Terminal, options: GlobalOptions): Promise<void> {
  const { describedSettings } = await import("../server/config-schema.ts");
  const settings = describedSettings();
  const rows = settings.map(({ path, fallback, values, description }) =>
    [path, fallback, values, description].map((cell) => cell.replaceAll("`", "")),
  );
  const blocks = [table(["SETTING", "DEFAULT", "VALUES", "MEANING"], rows)];
  await emit(terminal, options, { value: { settings }, records: settings, blocks });
}
