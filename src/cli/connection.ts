/** The server a command talks to: `--url`, or `BRAID_URL`, or the default address on this machine. */
import type { BraidClient, RetryLimits } from "../../client/connect.ts";
import { connect } from "../../client/connect.ts";
import { UsageError } from "./failures.ts";
import type { Terminal } from "./terminal.ts";

/** Options that every command takes. */
export interface GlobalOptions {
  readonly url?: string;
  readonly json?: boolean;
}

export const DEFAULT_URL = "http://127.0.0.1:8420";

export function clientFor(
  options: GlobalOptions,
  terminal: Terminal,
  retries: Partial<RetryLimits> = QUICK,
): BraidClient {
  try {
    return connect(options.url ?? terminal.env["BRAID_URL"] ?? DEFAULT_URL, { retries });
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
}

/** A person waits: half a second of repeats is enough to get over a hiccup. */
const QUICK: Partial<RetryLimits> = { attemptsMax: 4 };
