/** `braid splits pause` and `resume`: whether workers work on the splits of a namespace. */
import type { Command } from "commander";
import { line } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { emit } from "./output.ts";
import { withRelative } from "./relative-time.ts";
import type { Terminal } from "./terminal.ts";

export function addSplitsPause(splits: Command, terminal: Terminal): void {
  splits
    .command("pause <namespace>")
    .description("stop the work on a namespace's splits; completed ones stay in use")
    .option("--reason <text>", "reason to record with the pause")
    .addHelpText("after", '\nExample:\n  $ braid splits pause plays --reason "a load test"')
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { reason?: string }>();
      const call = { reason: options.reason ?? "", signal: terminal.interrupted };
      const answer = await clientFor(options, terminal).splits.pause(namespace, call);
      const { since, by, reason } = answer.pause;
      const why = reason === "" ? "" : `: ${reason}`;
      const first = `${by} at ${withRelative(since, terminal.clock.nowMicros())}${why}`;
      const text = answer.wasPaused
        ? `the splits of ${namespace} were paused already, by ${first}`
        : `paused the splits of ${namespace}; run "braid splits resume ${namespace}" to resume`;
      await emit(terminal, options, { value: answer, blocks: [line(text)] });
    });
}

export function addSplitsResume(splits: Command, terminal: Terminal): void {
  splits
    .command("resume <namespace>")
    .description("resume the work on a namespace's splits")
    .addHelpText("after", "\nExample:\n  $ braid splits resume plays")
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const call = { signal: terminal.interrupted };
      const answer = await clientFor(options, terminal).splits.resume(namespace, call);
      const text = answer.wasPaused
        ? `resumed the splits of ${namespace}`
        : `the splits of ${namespace} were not paused`;
      await emit(terminal, options, { value: answer, blocks: [line(text)] });
    });
}
