/** `braid queue`: what waits in the queue of detections, and its dead letters. */
import type { Command } from "commander";
import type { DeadDetection, DeadDetectionsAnswer, QueueStatus } from "../../client/connect.ts";
import { line, pairs, table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { EXIT, ExitError, UsageError } from "./failures.ts";
import { emit } from "./output.ts";
import { count, printable } from "./print.ts";
import { ageOf, withRelative } from "./relative-time.ts";
import type { Terminal } from "./terminal.ts";
import { addWatchFlag, emitWatched } from "./watch.ts";
import type { WatchFlags } from "./watch.ts";

/** `--all` lists the rest. */
const LISTED_MAX = 100;
/** Positions of one request. */
const POSITIONS_AT_ONCE = 100;

interface SettleOptions extends GlobalOptions {
  readonly all?: boolean;
  readonly reason?: string;
}

export function addQueue(program: Command, terminal: Terminal): void {
  const queue = program
    .command("queue")
    .description("show the queue of detections, and replay or drop its dead letters")
    .addHelpText("after", "\nExample:\n  $ braid queue show\n  $ braid queue dead");
  addShow(queue, terminal);
  addDead(queue, terminal);
  addSettle(queue, terminal, "replay");
  addSettle(queue, terminal, "drop");
}

function addShow(queue: Command, terminal: Terminal): void {
  addWatchFlag(queue.command("show"))
    .description("show what waits, by partition, and how many dead letters there are")
    .addHelpText(
      "after",
      "\nRates are over the time since an earlier call to the same server, at most two minutes." +
        "\n\nExample:\n  $ braid queue show --watch",
    )
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & WatchFlags>();
      const client = clientFor(options, terminal);
      await emitWatched(terminal, options, undefined, async () => {
        const found = await client.queue.get({ signal: terminal.interrupted });
        return {
          value: found,
          records: found.partitions.map((each) => ({ ...each, oldestTime: each.oldestTime ?? "" })),
          columns: ["topic", "partition", "waiting", "oldestTime"],
          blocks: report(found, terminal.clock.nowMicros()),
          notes: found.deadLetters === "0" ? [] : ["see the dead letters with braid queue dead"],
        };
      });
    });
}

function report(found: QueueStatus, nowMicros: number): Block[] {
  const { oldestTime, publishedPerSecond: published, handledPerSecond: handled } = found;
  const since =
    oldestTime === undefined ? "" : `, the oldest since ${withRelative(oldestTime, nowMicros)}`;
  const rate = (number: number): string => number.toFixed(number < 10 ? 1 : 0);
  const rows = found.partitions.map((each) => [
    each.topic,
    String(each.partition),
    count(each.waiting),
    each.oldestTime === undefined ? "" : ageOf(each.oldestTime, nowMicros),
  ]);
  return [
    pairs([
      ["queue", `${found.queue}, seen by ${found.process}`],
      ["waiting", `${count(found.waiting)}${since}`],
      ["in flight", `${count(found.inFlight)} here, ${count(found.buffered)} to be sent`],
      [
        "rate",
        published === undefined || handled === undefined
          ? "not known yet: call it again"
          : `${rate(published)}/s published, ${rate(handled)}/s handled, over ${found.rateOver ?? ""}`,
      ],
      ["dead letters", count(found.deadLetters)],
    ]),
    ...(rows.length === 0
      ? []
      : [line(""), table(["TOPIC", ">PARTITION", ">WAITING", ">OLDEST"], rows)]),
  ];
}

function addDead(queue: Command, terminal: Terminal): void {
  addWatchFlag(queue.command("dead"))
    .description("list the detections that no worker could decode")
    .option("--all", `all of them (default: the first ${LISTED_MAX})`)
    .addHelpText(
      "after",
      "\nPOSITION is what replay and drop take. The embedded queue keeps the last 100, until the server stops." +
        "\n\nExample:\n  $ braid queue dead -o json",
    )
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & WatchFlags & { all?: boolean }>();
      const client = clientFor(options, terminal);
      const { interrupted: signal, clock } = terminal;
      await emitWatched(terminal, options, undefined, async () => {
        const found: DeadDetection[] = [];
        const wanted = options.all === true ? Number.POSITIVE_INFINITY : LISTED_MAX;
        let pageToken = "";
        let page;
        do {
          page = await client.queue.deadPage({ pageToken, signal });
          found.push(...page.deadDetections);
          pageToken = page.nextPageToken;
        } while (pageToken !== "" && found.length < wanted);
        const { actions } = page;
        const more = pageToken !== "" ? [`there are more; see them with --all`] : [];
        const none = found.length === 0 ? ["there are no dead letters"] : [];
        return {
          value: { deadDetections: found, actions },
          records: found.map(recordOf),
          columns: COLUMNS,
          blocks: found.length === 0 ? [] : [listing(found, clock.nowMicros())],
          notes: [
            ...none,
            ...more,
            ...actions.slice(-3).map(({ time, by, action, count: letters, reason }) => {
              const why = reason === "" ? "" : `: ${printable(reason)}`;
              return `${by} ${action} ${count(letters)} at ${time}${why}`;
            }),
          ],
        };
      });
    });
}

function listing(found: readonly DeadDetection[], nowMicros: number): Block {
  const rows = found.map((letter) => [
    letter.position,
    ageOf(letter.time, nowMicros),
    letter.detection === undefined ? "no" : "yes",
    letter.key,
    count(letter.valueBytes),
    letter.reason,
  ]);
  return table(["=POSITION", ">AGE", "DECODES NOW", "KEY", ">BYTES", "REASON"], rows);
}

const COLUMNS = ["position", "time", "key", "valueBytes", "kept", "origin", "reason"] as const;

function recordOf(letter: DeadDetection): Record<(typeof COLUMNS)[number], unknown> {
  const { position, time, key, valueBytes, kept, origin, reason } = letter;
  return { position, time, key, valueBytes, kept, origin, reason };
}

const SETTLE = {
  replay: {
    done: "replayed",
    what: "put dead letters into the queue again, unchanged",
    example: '$ braid queue replay 0:17 0:18 --reason "the new version decodes them"',
  },
  drop: {
    done: "dropped",
    what: "drop dead letters for good; reads detect wide partitions again",
    example: '$ braid queue drop --all --reason "from a test"',
  },
} as const;

function addSettle(queue: Command, terminal: Terminal, name: keyof typeof SETTLE): void {
  const { done, what, example } = SETTLE[name];
  queue
    .command(`${name} [positions...]`)
    .description(what)
    .option("--all", "all dead letters")
    .option("--reason <text>", "reason to record with the change")
    .addHelpText("after", `\nExample:\n  ${example}`)
    .action(async (positions: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<SettleOptions>();
      const { all = false, reason = "" } = options;
      if (all === positions.length > 0) {
        throw new UsageError("give the positions that braid queue dead lists, or --all");
      }
      if (name === "drop" && reason === "") {
        throw new UsageError("say why they can be dropped, with --reason");
      }
      const calls = clientFor(options, terminal).queue;
      const call = { reason, signal: terminal.interrupted };
      const total = { count: 0, missing: [] as string[], notKept: [] as string[] };
      const add = ({ count: more, missing, notKept }: DeadDetectionsAnswer): void => {
        total.count += Number(more);
        total.missing.push(...missing);
        // Each round of --all finds the same ones again.
        total.notKept = [...new Set([...total.notKept, ...notKept])];
      };
      if (all) {
        for (let more = true; more;) {
          const answer = await calls[name]("all", call);
          add(answer);
          more = answer.more && answer.count !== "0";
        }
      }
      for (let at = 0; at < positions.length; at += POSITIONS_AT_ONCE) {
        add(await calls[name](positions.slice(at, at + POSITIONS_AT_ONCE), call));
      }
      await emit(terminal, options, {
        value: { ...total, count: String(total.count) },
        blocks: [
          line(`${done} ${count(total.count)} dead ${total.count === 1 ? "letter" : "letters"}`),
        ],
        notes: [
          ...notes("no dead letter at", total.missing),
          ...notes("not replayed, because the value was too large to be kept:", total.notKept),
        ],
      });
      if (total.count === 0 && total.missing.length > 0) throw new ExitError(EXIT.notFound);
    });
}

function notes(text: string, positions: readonly string[]): string[] {
  return positions.length === 0 ? [] : [`${text} ${positions.join(", ")}`];
}
