/** `braid status`: the server that answers, and what is switched off, paused or in progress. */
import type { Command } from "commander";
import type { ServerStatus } from "../../client/connect.ts";
import { pairs } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clockLine } from "./clock.ts";
import { clientFor, urlFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { EXIT, ExitError } from "./failures.ts";
import { count, duration, size } from "./print.ts";
import { relative } from "./relative-time.ts";
import { killSwitchNotes, pauseNotes } from "./switch-notes.ts";
import type { Terminal } from "./terminal.ts";
import { addWatchFlag, emitWatched } from "./watch.ts";
import type { WatchFlags } from "./watch.ts";

export function addStatus(program: Command, terminal: Terminal): void {
  addWatchFlag(program.command("status"))
    .description("show the server's version, health, splits, and what is paused or switched off")
    .addHelpText(
      "after",
      "\nIt exits 1 if the server is not ready.\n\nExample:\n  $ braid status\n  $ braid status --watch",
    )
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & WatchFlags>();
      const client = clientFor(options, terminal);
      const url = urlFor(options, terminal);
      let ready = true;
      await emitWatched(terminal, options, { client, topics: ["STATUS"] }, async () => {
        const status = await client.getStatus({ signal: terminal.interrupted });
        ({ ready } = status);
        const now = terminal.clock.nowMicros();
        const notes = [
          ...killSwitchNotes(status.killSwitch, now),
          ...pauseNotes(status.paused, "", now),
          ...(status.clock.inDoubt ? [status.clock.message] : []),
          ...(status.disk?.readOnly === true ? [status.disk.message] : []),
        ];
        return { value: status, blocks: [describe(status, url, now)], notes };
      });
      if (!ready) throw new ExitError(EXIT.failed);
    });
}

function describe(status: ServerStatus, url: string, nowMicros: number): Block {
  const { version, build, engine, queue, namespaces, killSwitch, paused } = status;
  return pairs([
    ["server", `${version} (${build}) at ${url}, ${status.process}`],
    ["state", status.ready ? "READY" : `NOT READY: ${status.notReady}`],
    ["up", `${roughly(status.uptime)}, since ${status.startTime}`],
    ["storage", `engine ${engine}, queue ${queue}, Node.js ${status.nodeVersion}`],
    ...diskLines(status.disk),
    [
      "namespaces",
      `${count(namespaces)}, the oldest view ${duration(status.oldestViewAge)} of at most ` +
        duration(status.viewMaxAge),
    ],
    ["splits", splitsLine(status, nowMicros)],
    ["paused", paused.length === 0 ? "none" : paused.map(({ namespace }) => namespace).join(", ")],
    ["kill switch", killSwitch.on ? "ON" : "off"],
    ["clock", clockLine(status.clock)],
  ]);
}

/** None for an engine without a disk of its own. */
function diskLines(disk: ServerStatus["disk"] | undefined): [string, string][] {
  if (disk?.freeBytes === undefined) return [];
  const state = disk.readOnly ? "READ ONLY, events are refused" : "events are taken";
  return [["disk", `${size(disk.freeBytes)} free, at least ${size(disk.freeBytesMin)}; ${state}`]];
}

function splitsLine({ splits, splitsTime }: ServerStatus, nowMicros: number): string {
  if (splitsTime === undefined) return "not counted yet";
  const counted = splits.filter((each) => each.count !== "0");
  const states = counted.map(({ state, count: number }) => `${count(number)} ${state}`);
  return `${states.join(", ") || "none"}, counted ${relative(splitsTime, nowMicros)}`;
}

/** Days, hours, minutes: the two largest units. */
function roughly(time: string): string {
  const seconds = Math.floor(Number(time.replace(/s$/, "")));
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ] as const;
  const first = parts.findIndex(([number]) => number > 0);
  if (first < 0) return "0s";
  const shown = parts.slice(first, first + 2).filter(([number]) => number > 0);
  return shown.map(([number, unit]) => `${number}${unit}`).join(" ");
}
