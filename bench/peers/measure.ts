/** Does the same work with several peers by turns, round after round. */
import { note } from "../support/report.ts";
import { byTurns, percentile } from "../support/stats.ts";
import type { PeerName } from "./caller-process.ts";
import type { Peers } from "./start-peers.ts";
import type { Done, Stored, Work } from "./work.ts";

/** Who does the work, on what. */
export interface Side {
  readonly peer: PeerName;
  readonly stored: Stored;
}

/** One value for each round. */
export interface Figures {
  readonly eventsPerSecond: number[];
  readonly pagesPerSecond: number[];
  readonly p50: number[];
  readonly p99: number[];
  /** Processor time of the server for each page, in milliseconds. */
  readonly serverMs: number[];
}

export interface Rounds {
  readonly count: number;
  readonly warmUp: number;
}

export type Measured = ReadonlyMap<string, Figures>;

export function nameOf({ peer, stored }: Side): string {
  return stored === "packed" ? `${peer}, packed` : peer;
}

export async function measure(
  { all }: Peers,
  what: string,
  sides: readonly Side[],
  { count, warmUp }: Rounds,
  workOf: (round: number, stored: Stored) => Work,
): Promise<Measured> {
  const present = sides.filter(({ peer }) => all.has(peer));
  const measured = new Map<string, Figures>();
  for (let round = 0; round < warmUp + count; round++) {
    const told: string[] = [];
    let first: Done | undefined;
    for (const side of byTurns(present, round)) {
      const peer = all.get(side.peer);
      if (peer === undefined) continue;
      const work = workOf(round, side.stored);
      const before = await peer.serverSeconds();
      const done = await peer.caller.do(work);
      const serverSeconds = (await peer.serverSeconds()) - before;
      first ??= done;
      requireSame(what, first, done);
      told.push(`${nameOf(side)} ${Math.round(done.events / done.seconds / 1000)}k`);
      if (round < warmUp) continue;
      keep(figuresOf(measured, nameOf(side)), done, serverSeconds);
    }
    const label = round < warmUp ? "warm-up" : `round ${round - warmUp + 1} of ${count}`;
    note(`${what}, ${label}, events/s: ${told.join(", ")}`);
  }
  return measured;
}

/** Every peer must have decoded the same events. */
function requireSame(what: string, first: Done, done: Done): void {
  if (done.events === first.events && done.check === first.check) return;
  throw new Error(
    `${what}: one peer read ${first.events} events (${first.check}), another ${done.events} (${done.check})`,
  );
}

function keep(figures: Figures, done: Done, serverSeconds: number): void {
  const pages = done.times.length;
  figures.eventsPerSecond.push(done.events / done.seconds);
  figures.pagesPerSecond.push(pages / done.seconds);
  figures.p50.push(percentile(done.times, 50));
  figures.p99.push(percentile(done.times, 99));
  figures.serverMs.push((1000 * serverSeconds) / pages);
}

function figuresOf(measured: Map<string, Figures>, name: string): Figures {
  let figures = measured.get(name);
  if (figures === undefined) {
    figures = { eventsPerSecond: [], pagesPerSecond: [], p50: [], p99: [], serverMs: [] };
    measured.set(name, figures);
  }
  return figures;
}
