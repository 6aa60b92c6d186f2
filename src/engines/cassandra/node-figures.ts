/**
 * Keeps what the nodes of the data centre say of themselves through their Jolokia agents, for
 * metrics: reads that wait, timeouts, garbage collection, processor use.
 *
 * A missing agent is normal: such a node has no figures, and is asked again only after a while.
 * What is shown is never older than one round; a node that stops answering disappears.
 */
import type { Clock } from "../../lib/clock.ts";
import { agentOf, readFigures } from "./jolokia.ts";
import type { NodeFigures } from "./jolokia.ts";
import { askNodes } from "./partition-sizes-nodes.ts";
import type { NodeAnswer } from "./partition-sizes-nodes.ts";
import type { Host, Session } from "./session.ts";

export interface FiguresOfNode extends NodeFigures {
  /** Its address, as the driver has it. */
  readonly node: string;
}

export interface NodeFiguresOptions {
  readonly session: Pick<Session, "localHosts">;
  readonly clock: Clock;
  /** 0: no agent is asked. */
  readonly jolokiaPort: number;
}

/** As often as Prometheus usually scrapes. */
const EVERY_MS = 15_000;
/** For a node whose agent did not answer: most have none. */
const SILENT_EVERY_MS = 300_000;

export class NodeFiguresWatch {
  readonly #options: NodeFiguresOptions;
  #figures: readonly FiguresOfNode[] = [];
  /** By address: when to ask a node again that did not answer, on the monotonic clock. */
  #silentUntilMs: ReadonlyMap<string, number> = new Map();

  constructor(options: NodeFiguresOptions) {
    this.#options = options;
  }

  /** Of the nodes that answered in the last round. */
  current(): readonly FiguresOfNode[] {
    return this.#figures;
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, jolokiaPort } = this.#options;
    while (jolokiaPort !== 0 && !signal.aborted) {
      await this.refresh(signal);
      await clock.sleep(EVERY_MS, signal);
    }
  }

  /** One round. Never rejects. */
  async refresh(signal: AbortSignal): Promise<void> {
    const { session, clock, jolokiaPort } = this.#options;
    const nowMs = clock.monotonicMs();
    const silent = new Map<string, number>();
    const due: Host[] = [];
    for (const node of session.localHosts) {
      const untilMs = this.#silentUntilMs.get(node.address) ?? nowMs;
      if (untilMs <= nowMs) due.push(node);
      else silent.set(node.address, untilMs);
    }
    const askOne = async (node: Host, own: AbortSignal): Promise<NodeAnswer<FiguresOfNode>> => {
      const answer = await readFigures(clock, agentOf(node, jolokiaPort), own);
      if ("value" in answer) return { value: { node: node.address, ...answer.value } };
      silent.set(node.address, nowMs + SILENT_EVERY_MS);
      return answer;
    };
    try {
      this.#figures = (await askNodes({ localHosts: due }, signal, askOne)).values;
      this.#silentUntilMs = silent;
    } catch (error) {
      // The process stops: nobody looks at the figures any more.
      if (!signal.aborted) throw error;
    }
  }
}
