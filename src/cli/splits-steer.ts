/**
 * `braid splits request|retry|rollback`: operator requests for one partition. Each prints one line.
 */
import type { Command } from "commander";
import type { Split } from "../../client/connect.ts";
import { line } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import {
  addLocationFlags,
  EXAMPLE_SPLIT,
  LOCATION_ARGUMENTS,
  splitTarget,
} from "./location-flags.ts";
import type { LocationFlags } from "./location-flags.ts";
import { emit } from "./output.ts";
import { nameOf } from "./split-report.ts";
import type { Terminal } from "./terminal.ts";

interface SteerOptions extends GlobalOptions, LocationFlags {
  readonly reason?: string;
  readonly force?: boolean;
}

type Steer = "request" | "retry" | "rollback";

const TEXTS = {
  request: {
    about: "split a partition, as if a read had found it wide",
    done: "requested",
    example: LOCATION_ARGUMENTS,
  },
  retry: {
    about: "plan again what failed, was refused, parked or rolled back",
    done: "retried",
    example: EXAMPLE_SPLIT,
  },
  rollback: {
    about: "read the original again, until a retry",
    done: "rolled back",
    example: `${EXAMPLE_SPLIT} --reason "a difference"`,
  },
} as const;

export function addSplitsSteer(splits: Command, terminal: Terminal, name: Steer): void {
  const { about, example } = TEXTS[name];
  const command = addLocationFlags(splits.command(`${name} <namespace> [split]`))
    .description(about)
    .option("--reason <text>", "reason to record in the history");
  if (name === "request") command.option("--force", "even if the partition is not wide");
  command
    .addHelpText("after", `\nExample:\n  $ braid splits ${name} plays ${example}`)
    .action(
      async (namespace: string, id: string | undefined, _options: unknown, called: Command) => {
        const options = called.optsWithGlobals<SteerOptions>();
        const { reason = "", force = false } = options;
        const call = { reason, signal: terminal.interrupted, ...(force && { force }) };
        const { splits: calls } = clientFor(options, terminal);
        const split = await calls[name](namespace, splitTarget(id, options), call);
        await emit(terminal, options, { value: split, blocks: [line(outcome(name, split))] });
      },
    );
}

function outcome(name: Steer, split: Split): string {
  const { state, reason } = split;
  return `${TEXTS[name].done} ${nameOf(split)}: ${state}${reason === "" ? "" : `, ${reason}`}`;
}
