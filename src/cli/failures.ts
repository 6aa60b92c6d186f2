/** Errors for people and for scripts: messages that say what to do, and stable exit codes. */
import type { BraidError } from "../../client/braid-error.ts";
import { printable } from "./print.ts";

export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  nothingCompared: 5,
  interrupted: 130,
} as const;

/** The command line is invalid. */
export class UsageError extends Error {}

/** Says why a file that the command line names cannot be read. Wrong usage, whatever reads it. */
export function unreadableFile(path: string, error: unknown): UsageError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT") return new UsageError(`there is no file ${path}`);
  if (code === "EISDIR") return new UsageError(`${path} is a directory; give a file`);
  if (code === "EACCES") return new UsageError(`you may not read ${path}`);
  const why = error instanceof Error ? error.message : String(error);
  return new UsageError(`cannot read ${path}: ${why}`);
}

/** Ends the command with an exit code; the command has already reported why. */
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

/**
 * Lines for stderr. `namespace` is the namespace of the command, if it has one; `better` a hint that
 * fits more than the usual one.
 */
export function explainFailure(
  error: BraidError,
  namespace = "NAMESPACE",
  better?: string,
): string {
  const { message, problems } = error;
  // Several problems are easier to read one per line than joined in the message.
  const repeated = problems.every((problem) => message.includes(problem));
  const title = repeated && problems.length > 1 ? "the request has several problems:" : message;
  const lines = [`braid: ${inCommands(title)}`];
  if (!repeated || problems.length > 1) {
    for (const problem of problems) lines.push(`  - ${inCommands(problem)}`);
  }
  const hint = better ?? hintFor(error, namespace);
  if (hint !== undefined) lines.push(`  ${hint}`);
  lines.push(`  (${error.code})`);
  return `${lines.join("\n")}\n`;
}

/** The server could do it, but not now or not in this state. */
const REFUSALS = new Set([
  "OVERLOADED",
  "ID_BLOCKED",
  "REQUEST_TOO_LARGE",
  "EVENT_TOO_LARGE",
  "CONFLICT",
  "NAMESPACE_EXISTS",
]);
/** The same request is never accepted. */
const WRONG_REQUEST = new Set([
  "REQUEST_INVALID",
  "CONFIG_INVALID",
  "PAGE_TOKEN_INVALID",
  "PAGE_TOKEN_EXPIRED",
]);

function hintFor(error: BraidError, namespace: string): string | undefined {
  if (error.outcome === "unknown" && error.code !== "INTERNAL") {
    return "it may or may not have happened; repeating it is safe for events";
  }
  const { retryAfterMs } = error;
  if (retryAfterMs !== undefined) return `try again in ${Math.ceil(retryAfterMs / 1000)}s`;
  // About a deleted namespace: the message says what to do.
  const { id, ids, deleted } = error.details;
  if (id !== undefined || ids !== undefined || deleted !== undefined) return undefined;
  return HINTS[error.code]?.replaceAll("NAMESPACE", printable(namespace));
}

const HINTS: Readonly<Record<string, string>> = {
  NAMESPACE_NOT_FOUND: "see what there is: braid ns ls; create it: braid ns create NAMESPACE",
  TIME_SLICE_NOT_FOUND: "see what there is: braid slices NAMESPACE",
  TUNING_NOT_FOUND: "see what there is: braid tune ls NAMESPACE",
  SPLIT_NOT_FOUND: "see what there is: braid splits ls NAMESPACE",
  VERIFY_NOT_FOUND: "start one: braid verify NAMESPACE",
  NAMESPACE_EXISTS: "show it: braid ns get NAMESPACE; change it: braid ns update NAMESPACE",
  ID_BLOCKED: "see why: braid block ls NAMESPACE",
  SERVER_UNREACHABLE: "start one: braid serve; or give its address: --url, BRAID_URL",
};

/** Replaces API methods and fields in a server's message with CLI commands and flags. */
function inCommands(message: string): string {
  const text = printable(message)
    .replaceAll(PURGE_BY_ID, "braid ns rm $1 --purge")
    .replaceAll(API_NAMES, (name) => COMMANDS[name] ?? name);
  return text.replaceAll(API_FIELDS, (field) => FLAGS[field.replace(/^ids\[\d+\]\./, "")] ?? field);
}

const COMMANDS: Readonly<Record<string, string>> = {
  ReadEventRecords: "braid read",
  ExplainRead: "braid explain",
  CreateNamespace: "braid ns create",
  GetNamespace: "braid ns get",
  ListNamespaces: "braid ns ls",
  UpdateNamespace: "braid ns update",
  DeleteNamespace: "braid ns rm",
  UndeleteNamespace: "braid ns undelete",
  ListDeletedNamespaces: "braid ns ls --deleted",
  ListTimeSlices: "braid slices",
  UndropTimeSlice: "braid slices undrop",
  PurgeTimeSlice: "braid slices purge",
  BlockIds: "braid block add",
  UnblockIds: "braid block rm",
  ListBlockedIds: "braid block ls",
  ListSplits: "braid splits ls",
  GetSplit: "braid splits show",
  RequestSplit: "braid splits request",
  RetrySplit: "braid splits retry",
  RollbackSplit: "braid splits rollback",
  PauseSplits: "braid splits pause",
  ResumeSplits: "braid splits resume",
  StartVerify: "braid verify",
  GetReadMode: "braid modes get",
  SetReadMode: "braid modes set",
  GetKillSwitch: "braid kill-switch status",
  SetKillSwitch: "braid kill-switch",
  GetHistogram: "braid histogram",
  ListTunings: "braid tune ls",
  DecideTuning: "braid tune accept|refuse",
  PlanNamespace: "braid plan",
  GetRemedies: "braid doctor",
  GetStatus: "braid status",
  GetMetricsHistory: "braid metrics",
};

/** The fields whose flags have other names. */
const FLAGS: Readonly<Record<string, string>> = {
  "timeInterval.start": "--from",
  "timeInterval.end": "--to",
  pageSize: "--page-size",
  asName: "--as-name",
  expireTime: "the end of the block",
};

const PURGE_BY_ID = /\bDeleteNamespace (\S+) with purge\b/g;
const API_FIELDS = /\b(?:timeInterval\.(?:start|end)|pageSize|asName|ids\[\d+\]\.expireTime)\b/g;
const API_NAMES = new RegExp(`\\b(${Object.keys(COMMANDS).join("|")})\\b`, "g");
