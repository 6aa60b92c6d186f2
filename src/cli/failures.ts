/** What went wrong, for people and for scripts: messages that say what to do, and stable exit codes. */
import type { BraidError } from "../../client/braid-error.ts";
import { printable } from "./print.ts";

export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  interrupted: 130,
} as const;

/** The command line asks for something that cannot be. */
export class UsageError extends Error {}

/** Ends the command with a code, after it has said why by itself. */
export class ExitError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`exit ${exitCode}`);
    this.exitCode = exitCode;
  }
}

export function exitCodeOf(error: BraidError): number {
  if (error.code.endsWith("_NOT_FOUND")) return EXIT.notFound;
  if (REFUSALS.has(error.code)) return EXIT.refused;
  return WRONG_REQUEST.has(error.code) ? EXIT.usage : EXIT.failed;
}

/** Lines for stderr. */
export function explainFailure(error: BraidError): string {
  const { message, problems } = error;
  // Several problems are read more easily one below the other than in the message, which has them in a row.
  const repeated = problems.every((problem) => message.includes(problem));
  const title = repeated && problems.length > 1 ? "the request has several problems:" : message;
  const lines = [`braid: ${printable(title)}`];
  if (!repeated || problems.length > 1) {
    for (const problem of problems) lines.push(`  - ${printable(problem)}`);
  }
  const hint = hintFor(error);
  if (hint !== undefined) lines.push(`  ${hint}`);
  lines.push(`  (${error.code})`);
  return `${lines.join("\n")}\n`;
}

const REFUSALS = new Set(["OVERLOADED", "ID_BLOCKED", "REQUEST_TOO_LARGE", "EVENT_TOO_LARGE"]);
const WRONG_REQUEST = new Set(["REQUEST_INVALID", "CONFIG_INVALID"]);

function hintFor(error: BraidError): string | undefined {
  if (error.outcome === "unknown" && error.code !== "INTERNAL") {
    return "it may or may not have happened; repeating it is safe for events";
  }
  const { retryAfterMs } = error;
  if (retryAfterMs !== undefined) return `try again in ${Math.ceil(retryAfterMs / 1000)}s`;
  return HINTS[error.code];
}

const HINTS: Readonly<Record<string, string>> = {
  NAMESPACE_NOT_FOUND: "see what there is: braid ns ls",
  TIME_SLICE_NOT_FOUND: "see what there is: braid slices NAMESPACE",
  SPLIT_NOT_FOUND: "see what there is: braid splits ls NAMESPACE",
  VERIFY_NOT_FOUND: "start one: braid verify NAMESPACE",
  NAMESPACE_EXISTS: "look at it: braid ns get NAME; change it: braid ns update NAME",
  ID_BLOCKED: "see why: braid block ls NAMESPACE",
  SERVER_UNREACHABLE: "start one: braid serve; or say where it is: --url, BRAID_URL",
};
