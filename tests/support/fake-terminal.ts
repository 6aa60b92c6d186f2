/** A terminal that records what is written to it. */
import { Readable } from "node:stream";
import { systemClock } from "../../src/lib/clock.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { Interrupted, run } from "../../src/cli/run.ts";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface Around {
  readonly url?: string;
  readonly input?: string | Readable;
  readonly env?: Record<string, string>;
  readonly outIsTty?: boolean;
  readonly noteIsTty?: boolean;
  readonly columns?: number;
  readonly answer?: string;
  /** Presses Ctrl-C when it resolves. */
  readonly interrupt?: Promise<unknown>;
}

/** Runs a command line in this process. */
export async function runBraid(args: readonly string[], around: Around = {}): Promise<Ran> {
  const interrupt = new AbortController();
  void around.interrupt?.then(() => interrupt.abort(new Interrupted()));
  let out = "";
  let err = "";
  const { answer, input = "" } = around;
  const terminal: Terminal = {
    print: async (text) => {
      out += text;
    },
    note: (text) => {
      err += text;
    },
    outIsTty: around.outIsTty ?? false,
    noteIsTty: around.noteIsTty ?? false,
    columns: around.columns,
    user: "ada@example",
    input: typeof input === "string" ? Readable.from([Buffer.from(input)]) : input,
    ask: answer === undefined ? undefined : async () => answer,
    env: { ...(around.url !== undefined && { BRAID_URL: around.url }), ...around.env },
    interrupted: interrupt.signal,
    clock: { ...systemClock, nowMicros: () => Date.UTC(2026, 10, 15, 12) * 1000 + 7 },
  };
  const code = await run(args, terminal);
  return { code, out, err };
}
