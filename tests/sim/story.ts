/**
 * Tells what went wrong in a world, for a person who has never seen the simulator: what was
 * written, which read went wrong and how, what was expected and by which rule, what happened on the
 * way, and how to repeat it.
 */
import type { Known, Problem, ProblemKind } from "./checker.ts";
import type { HistoryEntry, ReadBegun } from "./history.ts";
import type { WorldOptions, WorldSettings } from "./kinds.ts";

export interface WorldFailure {
  readonly options: WorldOptions;
  readonly settings: WorldSettings;
  readonly what: string;
  /** If the checker found it. */
  readonly problem: Problem | undefined;
  readonly history: readonly HistoryEntry[];
  readonly afterSeconds: number;
}

const RULES: Readonly<Record<ProblemKind, string>> = {
  LOST: "an acknowledged event is in every read of its time until its retention ends (I1, C1, C2)",
  ALTERED: "an event is returned with the bytes that were written (I1, C9)",
  DUPLICATED: "no event comes twice in one read, also not on two pages (I2, C11)",
  REORDERED: "events come in the order of their positions (I3, C11)",
  PHANTOM: "a read returns what was written and asked for, and nothing else (I17, C12)",
  UNREADABLE: "an answer consists of whole frames",
  STUCK: "every call ends, with an answer or an error (I20)",
};

const TOLD_MAX = 30;

export function tellStory(failure: WorldFailure): string {
  const { options, settings, what, problem, afterSeconds } = failure;
  const faults = [...settings.faults].join(", ");
  const lines = [
    `SEED ${options.seed} (${options.kind}) FAILED after ${afterSeconds} simulated seconds`,
    "",
    `What went wrong   ${what}`,
  ];
  if (problem !== undefined) {
    lines.push(`The rule          ${RULES[problem.kind]}`);
    lines.push(...readLines(failure, problem), ...eventLines(failure, problem));
  }
  lines.push(
    "",
    `The world         ${settings.servers} servers, ${settings.workers} workers, ${settings.replicas} replica(s), ` +
      `namespaces ${settings.namespaces.map(({ name }) => name).join(", ")}`,
    `Its faults        ${faults}`,
    "",
    "On the way (seconds since the world began)",
    ...onTheWay(failure),
    "",
    `Repeat it         ${commandOf(options)}`,
  );
  return `${lines.join("\n")}\n`;
}

function commandOf({ seed, kind, without, seconds }: WorldOptions): string {
  const flags = [`--kind ${kind}`, `--seed ${seed}`, "--worlds 1"];
  if (without !== undefined && without.length > 0) flags.push(`--without ${without.join(",")}`);
  if (seconds !== undefined) flags.push(`--seconds ${seconds}`);
  return `npm run sim -- ${flags.join(" ")}`;
}

function readLines({ history }: WorldFailure, { read }: Problem): string[] {
  if (read === undefined) return [];
  const ended = history.find((entry) => entry.kind === "read ended" && entry.read === read.read);
  const routes = ended?.kind === "read ended" ? [...new Set(ended.routes)] : [];
  const order = read.newestFirst ? "newest first" : "oldest first";
  const more = [
    ...(read.limit > 0 ? [`at most ${read.limit} events`] : []),
    ...(read.filter === undefined ? [] : ["with a filter"]),
  ];
  return [
    `The read          at ${read.server}, begun at ${secondsOf(read.atMs)}: ${read.series} of ${read.namespace}, ` +
      [`${timeText(read.start)} to ${timeText(read.end)}`, order, ...more].join(", "),
    ...routes.slice(0, 8).map((route) => `                  ${route}`),
  ];
}

function eventLines(failure: WorldFailure, { event }: Problem): string[] {
  if (event === undefined) return [];
  const lines = [
    `The event         ${event.id} of ${event.series} in ${event.namespace}, time ${timeText(event.time)}`,
  ];
  for (const write of event.writes) lines.push(...writeLines(failure, event, write));
  return lines;
}

function writeLines({ history }: WorldFailure, event: Known, write: number): string[] {
  const begun = history.find((entry) => entry.kind === "write begun" && entry.write === write);
  const ended = history.find((entry) => entry.kind === "write ended" && entry.write === write);
  if (begun?.kind !== "write begun") return [];
  const nth = begun.events.findIndex(({ id, time }) => id === event.id && time === event.time);
  const outcome = ended?.kind === "write ended" ? (ended.outcomes[nth] ?? "unknown") : "no answer";
  const at = ended === undefined ? "" : ` at ${secondsOf(ended.atMs)}`;
  return [
    `                  written at ${begun.server}, begun at ${secondsOf(begun.atMs)}: ${outcome}${at}`,
  ];
}

/** What concerns the partition, the servers, or everybody, from the write to the read. */
function onTheWay({ history, problem, settings }: WorldFailure): string[] {
  const { event, read } = problem ?? {};
  const endMs = history.at(-1)?.atMs ?? 0;
  const firstWrite = history.find(
    (entry) => entry.kind === "write begun" && entry.write === event?.writes[0],
  );
  const fromMs = (firstWrite?.atMs ?? endMs - 60_000) - 10_000;
  const told = history.filter((entry) => {
    if (entry.kind !== "happened" || entry.atMs < fromMs) return false;
    return event === undefined || concerns(entry.what, event, read, settings);
  });
  const lines = told.map((entry) => {
    return `  ${secondsOf(entry.atMs).padStart(8)}  ${entry.kind === "happened" ? entry.what : ""}`;
  });
  if (lines.length <= TOLD_MAX) return lines;
  const left = lines.length - TOLD_MAX;
  return [
    ...lines.slice(0, TOLD_MAX / 2),
    `  ${"...".padStart(8)}  (${left} more)`,
    ...lines.slice(-TOLD_MAX / 2),
  ];
}

function concerns(
  what: string,
  event: Known,
  read: ReadBegun | undefined,
  settings: WorldSettings,
): boolean {
  if (what.startsWith("the split of ")) {
    return what.startsWith(`the split of ${event.series} `) && what.includes(event.namespace);
  }
  const isOfOther = settings.namespaces.some(
    ({ name }) => !event.namespace.startsWith(`${name}-`) && what.includes(`${name} `),
  );
  const isOfOtherServer = /\b(?:server|worker)-\d+\b/.test(what) && what.includes("server-");
  if (isOfOtherServer && read !== undefined) return what.includes(`${read.server} `);
  return !isOfOther;
}

function secondsOf(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function timeText(micros: number): string {
  const text = new Date(Math.floor(micros / 1_000)).toISOString().slice(11, 23);
  return `${text}${String(micros % 1_000).padStart(3, "0")}`;
}
