/**
 * Asks every node of the data centre for its own statistics. Together these nodes have each
 * partition, so other data centres need not be asked.
 *
 * A node that is down or does not answer is left out, and the counts of the others are scaled up
 * for it: the report says so.
 */
import type { Clock } from "../../lib/clock.ts";
import { mapBounded } from "../../lib/map-bounded.ts";
import type { Host, Session } from "./session.ts";

/** What it needs of the connection. */
export type SizesSession = Pick<Session, "localHosts" | "options" | "execute">;

export interface CassandraSizesOptions {
  readonly session: SizesSession;
  /** The prefix of keyspace names. */
  readonly prefix: string;
  readonly clock: Clock;
  /** The port of each node's Jolokia agent; 0: no agent is asked. */
  readonly jolokiaPort: number;
}

/** The answer of one node, or why there is none. */
export type NodeAnswer<T> = { readonly value: T } | { readonly reason: string };

export interface NodeAnswers<T> {
  readonly values: readonly T[];
  readonly nodes: number;
  /** Of the first that did not answer. */
  readonly reason: string;
  readonly coverage: string;
}

const ASKED_AT_ONCE = 8;

/** `ask` rejects only when its signal aborts. */
export async function askNodes<T>(
  session: Pick<Session, "localHosts">,
  signal: AbortSignal,
  ask: (node: Host, signal: AbortSignal) => Promise<NodeAnswer<T>>,
): Promise<NodeAnswers<T>> {
  const nodes = session.localHosts;
  const askIfUp = (node: Host, nodeSignal: AbortSignal): Promise<NodeAnswer<T>> =>
    node.isUp() ? ask(node, nodeSignal) : Promise.resolve({ reason: `${node.address} is down` });
  const values: T[] = [];
  let reason = nodes.length === 0 ? "no node of the data centre is known" : "";
  for await (const answer of mapBounded(nodes, () => ASKED_AT_ONCE, signal, askIfUp)) {
    if ("value" in answer) values.push(answer.value);
    else if (reason === "") ({ reason } = answer);
  }
  return { values, nodes: nodes.length, reason, coverage: coverageOf(values.length, nodes.length) };
}

function coverageOf(answers: number, nodes: number): string {
  const answered = `${answers} of ${nodes} node${nodes === 1 ? "" : "s"} answered`;
  return answers === nodes ? answered : `${answered}; counts are scaled up to all of them`;
}
