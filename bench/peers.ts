/**
 * Braid on its embedded engine beside PostgreSQL and SQLite: the same events, every one decoded by
 * its caller, by turns in one run. The medians of the ratios count.
 *
 * Callers have processes of their own, so that the processor time of a server is its own.
 */
import { parseArgs } from "node:util";
import type { PeerName } from "./peers/caller-process.ts";
import { measure, nameOf } from "./peers/measure.ts";
import type { Figures, Measured, Rounds, Side } from "./peers/measure.ts";
import { startPeers } from "./peers/start-peers.ts";
import type { Peers } from "./peers/start-peers.ts";
import type { Stored } from "./peers/work.ts";
import { Report } from "./support/report.ts";
import { median } from "./support/stats.ts";

export const PEERS_FLAGS =
  "[--events 1000000] [--rounds 5] [--quick] [--only ingest,stream,walk,pages,latency,processor]";

/** Ingest and pages in flight. */
const WRITES_IN_FLIGHT = 8;
const PAGES_IN_FLIGHT = 32;

interface Context {
  readonly peers: Peers;
  readonly report: Report;
  readonly rounds: Rounds;
  readonly quick: boolean;
}

const PARTS: Readonly<Record<string, (context: Context) => Promise<void>>> = {
  ingest,
  stream,
  walk,
  pages,
  latency,
  processor,
};

export async function benchPeers(flags: readonly string[]): Promise<Report> {
  const { values } = parseArgs({
    args: [...flags],
    options: {
      events: { type: "string" },
      rounds: { type: "string" },
      quick: { type: "boolean", default: false },
      only: { type: "string" },
    },
  });
  const { quick } = values;
  const events = Number(values.events ?? (quick ? 100_000 : 1_000_000));
  // A partition that is not wide cannot be split, and pages need room.
  if (!(events >= 100_000)) throw new Error(`--events ${values.events}: at least 100000`);
  const count = Number(values.rounds ?? (quick ? 3 : 5));
  if (!(count >= 1)) throw new Error(`--rounds ${values.rounds}: at least 1`);
  const names = values.only?.split(",") ?? Object.keys(PARTS);
  const parts = names.map((name) => {
    const part = Object.hasOwn(PARTS, name) ? PARTS[name] : undefined;
    if (part === undefined) throw new Error(`--only ${name}: of ${Object.keys(PARTS).join(", ")}`);
    return { name, part };
  });
  const report = new Report("peers");
  const peers = await startPeers(events);
  try {
    for (const { name, part } of parts) {
      peers.memory.enter(name);
      await part({ peers, report, rounds: { count, warmUp: quick ? 1 : 2 }, quick });
    }
    reportMemory(report, peers);
  } finally {
    await peers.stop();
  }
  return report;
}

async function ingest({ peers, report, rounds, quick }: Context): Promise<void> {
  const events = quick ? 20_000 : 60_000;
  for (const ids of [1_000, 1]) {
    const what = `durable ingest, ${ids === 1 ? "one id" : "1,000 ids"}`;
    const sides = onRows("client", "gRPC", "PostgreSQL", "PostgreSQL COPY", "SQLite");
    const found = await measure(peers, what, sides, rounds, (round) => {
      return { kind: "ingest", round, events, ids, width: WRITES_IN_FLIGHT };
    });
    const many = ids > 1;
    compare(report, what, found, ["client", "PostgreSQL"], faster(many ? 1.1 : 0, many ? 1.3 : 0));
    compare(report, what, found, ["gRPC", "PostgreSQL"], faster(many ? 1.3 : 0, many ? 1.6 : 0));
    compare(report, what, found, ["gRPC", "PostgreSQL COPY"], TOLD);
    compare(report, what, found, ["client", "SQLite"], TOLD);
  }
}

async function stream({ peers, report, rounds }: Context): Promise<void> {
  const what = "stream of the whole series";
  const sides = [...EVERY_WAY, ...onRows("PostgreSQL COPY")];
  const found = await measure(peers, what, sides, rounds, (_, stored) => {
    return { kind: "stream", stored };
  });
  compare(report, what, found, ["client, packed", "PostgreSQL"], faster(1.1, 1.5));
  compare(report, what, found, ["client", "PostgreSQL"], faster(0.45, 1));
  compare(report, what, found, ["gRPC, packed", "PostgreSQL COPY"], TOLD);
  compare(report, what, found, ["gRPC", "PostgreSQL COPY"], TOLD);
  compare(report, what, found, ["client", "SQLite"], TOLD);
}

async function walk({ peers, report, rounds, quick }: Context): Promise<void> {
  const what = "pages of 1,000, one after another";
  const found = await measure(peers, what, EVERY_WAY, rounds, (round, stored) => {
    return { kind: "walk", stored, seed: round, pageEvents: 1_000, pages: quick ? 50 : 200 };
  });
  compare(report, what, found, ["client", "PostgreSQL"], faster(0.5, 0.8));
  compare(report, what, found, ["client, packed", "PostgreSQL"], TOLD);
  compare(report, what, found, ["gRPC", "PostgreSQL"], TOLD);
  compare(report, what, found, ["gRPC, packed", "gRPC"], faster(1, 1));
  compare(report, what, found, ["client", "SQLite"], TOLD);
}

async function pages({ peers, report, rounds, quick }: Context): Promise<void> {
  const what = "pages of 100, 32 in flight";
  const found = await measure(peers, what, EVERY_WAY, rounds, (round, stored) => ({
    kind: "pages",
    stored,
    seed: round,
    pageEvents: 100,
    pages: quick ? 1_000 : 3_000,
    width: PAGES_IN_FLIGHT,
  }));
  compare(report, what, found, ["client", "PostgreSQL"], faster(0.5, 0.8));
  compare(report, what, found, ["gRPC", "PostgreSQL"], faster(0.7, 0.9));
  compare(report, what, found, ["gRPC, packed", "gRPC"], faster(1, 1));
  compare(report, what, found, ["client, packed", "client"], TOLD);
  compare(report, what, found, ["client", "SQLite"], TOLD);
}

async function latency({ peers, report, rounds, quick }: Context): Promise<void> {
  const what = "page of 100, alone";
  const found = await measure(peers, what, EVERY_WAY, rounds, (round, stored) => ({
    kind: "pages",
    stored,
    seed: round,
    pageEvents: 100,
    pages: quick ? 300 : 1_000,
    width: 1,
  }));
  for (const which of ["p50", "p99"] as const) {
    const [must, want] = which === "p50" ? [2, 1.4] : [Infinity, Infinity];
    const of = { of: which, unit: "ms" } as const;
    const named = `${what}, ${which}`;
    compare(report, named, found, ["client", "PostgreSQL"], { ...of, must, want });
    compare(report, named, found, ["gRPC", "PostgreSQL"], { ...of, must: Infinity, want: 0 });
    compare(report, named, found, ["gRPC, packed", "gRPC"], { ...of, must: Infinity, want: 0 });
  }
}

async function processor({ peers, report, rounds, quick }: Context): Promise<void> {
  const goals = [
    { pageEvents: 1, count: 4_000, must: 0.25, want: 0.2 },
    { pageEvents: 100, count: 2_000, must: 0.45, want: 0.3 },
    { pageEvents: 1_000, count: 400, must: 3, want: 1.5 },
  ];
  for (const { pageEvents, count, must, want } of goals) {
    const what = `processor time of the server, page of ${pageEvents}`;
    const sides = [...BRAID_WAYS, ...onRows("PostgreSQL")];
    const found = await measure(peers, what, sides, rounds, (round, stored) => ({
      kind: "pages",
      stored,
      seed: round,
      pageEvents,
      pages: quick ? count / 4 : count,
      width: PAGES_IN_FLIGHT,
    }));
    for (const side of BRAID_WAYS) {
      const value = median(found.get(nameOf(side))?.serverMs ?? []);
      const isGoal = nameOf(side) === "gRPC";
      report.add({
        name: `${what}, ms, ${nameOf(side)}`,
        figure: `PostgreSQL ${median(found.get("PostgreSQL")?.serverMs ?? []).toFixed(2)} ms`,
        value,
        goal: isGoal ? `<= ${must}, ${want} wanted` : "",
        met: !isGoal || value <= must,
      });
    }
  }
}

function reportMemory(report: Report, { memory }: Peers): void {
  const peaks = [...memory.peaks];
  const most = Math.max(...peaks.map(([, mib]) => mib));
  report.add({
    name: "memory of the server without mapped files, most, MiB",
    figure: peaks.map(([phase, mib]) => `${phase} ${Math.round(mib)}`).join(", "),
    value: most,
    goal: "<= 300, 200 wanted",
    met: most <= 300,
  });
}

function onRows(...peers: readonly PeerName[]): Side[] {
  return peers.map((peer) => ({ peer, stored: "rows" }));
}

const STORED: readonly Stored[] = ["rows", "packed"];
const BRAID_WAYS: readonly Side[] = STORED.flatMap((stored) => [
  { peer: "client", stored },
  { peer: "gRPC", stored },
]);
const EVERY_WAY: readonly Side[] = [...BRAID_WAYS, ...onRows("PostgreSQL", "SQLite")];

interface Goal {
  readonly of: keyof Figures;
  readonly unit: "k events/s" | "ms";
  /** Rates at least, times at most. */
  readonly must: number;
  readonly want: number;
}

/** No goal: only shown. */
const TOLD = faster(0, 0);

function faster(must: number, want: number): Goal {
  return { of: "eventsPerSecond", unit: "k events/s", must, want };
}

function compare(
  report: Report,
  what: string,
  found: Measured,
  [name, against]: readonly [string, string],
  { of, unit, must, want }: Goal,
): void {
  const [ours, theirs] = [found.get(name)?.[of], found.get(against)?.[of]];
  // It is not installed.
  if (ours === undefined || theirs === undefined) return;
  const ratios = ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
  const value = median(ratios);
  const isRate = of === "eventsPerSecond";
  const text = (values: readonly number[]): string =>
    isRate ? (median(values) / 1000).toFixed(0) : median(values).toFixed(2);
  const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
  const isGoal = isRate ? must > 0 : must < Infinity;
  report.add({
    name: `${what}: ${name} to ${against}`,
    figure: `${text(ours)} to ${text(theirs)} ${unit}; rounds from ${range}`,
    value,
    goal: isGoal ? `${isRate ? ">=" : "<="} ${must}, ${want} wanted` : "",
    met: !isGoal || (isRate ? value >= must : value <= must),
  });
}
