/**
 * The server a command connects to (`--url`, `BRAID_URL`, or this machine), and the operator's name
 * (`--as`).
 */
import type { BraidClient, RetryLimits } from "../../client/connect.ts";
import { connect } from "../../client/connect.ts";
import { UsageError } from "./failures.ts";
import type { OutputOptions } from "./output.ts";
import type { Terminal } from "./terminal.ts";

/** Options that every command takes. */
export interface GlobalOptions extends OutputOptions {
  readonly url?: string;
  readonly as?: string;
}

export const DEFAULT_URL = "http://127.0.0.1:8420";

export function clientFor(
  options: GlobalOptions,
  terminal: Terminal,
  retries: Partial<RetryLimits> = QUICK,
): BraidClient {
  const operator = operatorOf(options, terminal);
  try {
    return connect(urlFor(options, terminal), { retries, operator });
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
}

export function urlFor(options: GlobalOptions, terminal: Terminal): string {
  return options.url ?? terminal.env["BRAID_URL"] ?? DEFAULT_URL;
}

/** The operator's name in histories. The server records it as claimed and does not verify it. */
function operatorOf(options: GlobalOptions, terminal: Terminal): string {
  if (options.as === undefined) return terminal.user.replaceAll(/[^!-~]/g, "?").slice(0, 128);
  if (/^[!-~]([ -~]{0,126}[!-~])?$/.test(options.as)) return options.as;
  throw new UsageError("--as: give a name of 1 to 128 ASCII characters, such as ada@example.com");
}

/** A person waits: half a second of retries is enough for a short interruption. */
const QUICK: Partial<RetryLimits> = { attemptsMax: 4 };
