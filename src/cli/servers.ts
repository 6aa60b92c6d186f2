/** `braid servers`: the servers and workers of the installation. */
import type { Command } from "commander";
import type { ServerList, ServerProcess } from "../../client/connect.ts";
import { table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { count, duration } from "./print.ts";
import { ageOf, relative } from "./relative-time.ts";
import type { Terminal } from "./terminal.ts";
import { addWatchFlag, emitWatched } from "./watch.ts";
import type { WatchFlags } from "./watch.ts";

export function addServers(program: Command, terminal: Terminal): void {
  addWatchFlag(program.command("servers"))
    .description("list the servers and workers of the installation")
    .addHelpText(
      "after",
      "\nEach process announces itself every 10 s. STATE is SILENT if it has not for 30 s, and after" +
        "\n10 min it is no longer listed. VIEW and FILTER are the ages of its oldest view of a namespace" +
        "\nand of its Bloom filter that lags most." +
        "\n\nExample:\n  $ braid servers\n  $ braid servers --watch",
    )
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & WatchFlags>();
      const client = clientFor(options, terminal);
      await emitWatched(terminal, options, { client, topics: ["SERVERS"] }, async () => {
        const list = await client.listServers({ signal: terminal.interrupted });
        const { servers } = list;
        return { value: list, records: servers, blocks: [listing(list)], notes: notesOn(list) };
      });
    });
}

function listing({ servers, serverTime }: ServerList): Block {
  const now = Date.parse(serverTime) * 1000;
  const rows = servers.map((server) => [
    server.name,
    server.role,
    stateOf(server),
    `${server.version} (${server.build})`,
    server.host,
    ageOf(server.startTime, now),
    relative(server.lastSeenTime, now),
    duration(server.oldestViewAge),
    server.oldestFilterAge === undefined ? "" : duration(server.oldestFilterAge),
    server.engine,
    server.clockInDoubt ? "IN DOUBT" : "ok",
  ]);
  return table(
    [
      "=NAME",
      "ROLE",
      "STATE",
      "VERSION",
      "?HOST",
      ">UP",
      "SEEN",
      ">VIEW",
      ">FILTER",
      "?ENGINE",
      "CLOCK",
    ],
    rows,
  );
}

function stateOf({ silent, draining }: ServerProcess): string {
  if (silent) return "SILENT";
  return draining ? "DRAINING" : "LIVE";
}

function notesOn({ servers, unreadable }: ServerList): string[] {
  const notes: string[] = [];
  const versions = new Set(servers.map(({ version, build }) => `${version} (${build})`));
  if (versions.size > 1) notes.push(`${versions.size} versions run: ${[...versions].join(", ")}`);
  const silent = servers.filter((server) => server.silent).length;
  if (silent > 0) {
    notes.push(
      `${silent === 1 ? "1 process has not announced itself" : `${count(silent)} processes have not announced themselves`} ` +
        "for 30 s: look at the log, and whether the catalog can be reached",
    );
  }
  const doubt = servers.filter(({ clockInDoubt }) => clockInDoubt).map(({ name }) => name);
  if (doubt.length > 0) {
    notes.push(`${doubt.join(", ")}: the clock is in doubt; run "braid clock" at that server`);
  }
  if (unreadable > 0) {
    notes.push(
      `${count(unreadable)} of a newer version cannot be shown; ask a server of that version`,
    );
  }
  return notes;
}
