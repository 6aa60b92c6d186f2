/** `braid splits`: the splits of wide partitions. */
import type { Command } from "commander";
import { addSplitsList } from "./splits-list.ts";
import { addSplitsPause, addSplitsResume } from "./splits-pause.ts";
import { addSplitsShow } from "./splits-show.ts";
import { addSplitsSteer } from "./splits-steer.ts";
import { addSplitsSummary } from "./splits-summary.ts";
import { addSplitsWait } from "./splits-wait.ts";
import type { Terminal } from "./terminal.ts";

export function addSplits(program: Command, terminal: Terminal): void {
  const splits = program
    .command("splits")
    .description("list, show and steer the splits of wide partitions")
    .addHelpText("after", "\nExample:\n  $ braid splits ls plays --state FAILED");
  addSplitsList(splits, terminal);
  addSplitsShow(splits, terminal);
  addSplitsSummary(splits, terminal);
  addSplitsSteer(splits, terminal, "request");
  addSplitsSteer(splits, terminal, "retry");
  addSplitsSteer(splits, terminal, "rollback");
  addSplitsWait(splits, terminal);
  addSplitsPause(splits, terminal);
  addSplitsResume(splits, terminal);
}
