/**
 * Translates the driver's errors for callers.
 *
 * A write is certainly not stored only if every node that was asked refused it outright. After any
 * other failure, such as a lost connection or a missing answer, it may be stored.
 */
import cassandra from "cassandra-driver";
import { ServiceError } from "../../lib/errors.ts";
import type { ClusterOptions } from "./cluster-options.ts";

const { errors, types } = cassandra;
/** As the numbers of the wire protocol. */
const codes: Readonly<Record<keyof typeof types.responseErrorCodes, number>> =
  types.responseErrorCodes;

/** Answers of a node that has done nothing. */
const REFUSALS: ReadonlySet<number> = new Set([
  codes.unavailableException,
  codes.isBootstrapping,
  codes.syntaxError,
  codes.unauthorized,
  codes.invalid,
  codes.badCredentials,
  // Its table is gone, so it could not be prepared again.
  codes.unprepared,
]);

/** Whether the node that was asked does not know the statement's table or keyspace. */
export function isMissingTable(error: unknown): boolean {
  if (error instanceof errors.NoHostAvailableError) {
    const inner = innerErrors(error);
    return inner.length > 0 && inner.every(isMissingTable);
  }
  if (!(error instanceof errors.ResponseError)) return false;
  if (error.code === codes.unprepared) return true;
  if (error.code !== codes.invalid) return false;
  return /unconfigured table|unknown keyspace|keyspace .* does not exist|table .* does not exist/i.test(
    error.message,
  );
}

/** Whether the node, or the driver waiting for it, ran out of time. */
export function isTimeout(error: unknown): boolean {
  if (error instanceof errors.OperationTimedOutError) return true;
  if (error instanceof errors.ResponseError) {
    return error.code === codes.readTimeout || error.code === codes.readFailure;
  }
  return innerErrors(error).some(isTimeout);
}

/** Whether certainly nothing of it was done. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof ServiceError) return error.code === "STORAGE_UNAVAILABLE";
  if (error instanceof errors.ResponseError) return REFUSALS.has(error.code);
  if (error instanceof errors.NoHostAvailableError) {
    return innerErrors(error).every(
      (inner) => inner === null || isUnsent(inner) || isRefusal(inner),
    );
  }
  return error instanceof errors.BusyConnectionError;
}

/**
 * The same for a transaction. A node can report it as unavailable when it is already agreed upon
 * and not yet written.
 */
export function isRefusedTransaction(error: unknown): boolean {
  const inner = [error, ...innerErrors(error)];
  return isRefusal(error) && !inner.some(isUnavailable);
}

function isUnavailable(error: unknown): boolean {
  return error instanceof errors.ResponseError && error.code === codes.unavailableException;
}

export function readFailure(error: unknown, what: string): ServiceError {
  if (error instanceof ServiceError) return error;
  return unavailable(`${what} cannot be read at the moment: ${reasonOf(error)}`, error);
}

export function writeFailure(error: unknown, what: string, certain: boolean): ServiceError {
  // Our own "not stored" error concerns one statement, not all of them.
  const ours = error instanceof ServiceError;
  if (ours && (certain || error.code !== "STORAGE_UNAVAILABLE")) return error;
  if (certain)
    return unavailable(`${what} takes no writes at the moment: ${reasonOf(error)}`, error);
  return new ServiceError(
    "OUTCOME_UNKNOWN",
    `${what} did not say whether it has stored the events: ${reasonOf(error)}; repeat the write, the same event twice is one event`,
    { cause: error, retryAfterMs: 1_000 },
  );
}

export function unavailable(message: string, cause: unknown): ServiceError {
  return new ServiceError("STORAGE_UNAVAILABLE", message, { cause, retryAfterMs: 1_000 });
}

export function cannotConnect(error: unknown, options: ClusterOptions): ServiceError {
  const where = options.contactPoints.join(", ");
  const inner = innerErrors(error).find((cause) => cause instanceof Error);
  const reason = inner instanceof Error ? inner.message : reasonOf(error);
  if (inner instanceof errors.AuthenticationError || error instanceof errors.AuthenticationError) {
    return unavailable(
      `Cassandra at ${where} refuses this user: ${reason}; set BRAID_CASSANDRA_USERNAME and BRAID_CASSANDRA_PASSWORD`,
      error,
    );
  }
  return unavailable(
    `Cassandra cannot be reached at ${where} (data centre ${options.datacenter}): ${reason}. ` +
      "Start it (`npm run services -- up` does on one machine), or set BRAID_CASSANDRA_CONTACT_POINTS and BRAID_CASSANDRA_DATACENTER",
    error,
  );
}

function reasonOf(error: unknown): string {
  if (error instanceof errors.NoHostAvailableError) {
    const inner = innerErrors(error).find((cause) => cause instanceof Error);
    return inner instanceof Error ? inner.message : "no node can be reached";
  }
  return error instanceof Error ? error.message : String(error);
}

function innerErrors(error: unknown): unknown[] {
  if (!(error instanceof errors.NoHostAvailableError)) return [];
  // By host; the driver's types do not say so.
  return Object.values(error.innerErrors as Record<string, unknown>);
}

/**
 * The driver gives a text for a node it did not ask, and marks requests that never left the socket.
 */
function isUnsent(inner: unknown): boolean {
  if (typeof inner === "string") return true;
  if (!(inner instanceof Error)) return false;
  return "requestNotWritten" in inner ? inner.requestNotWritten === true : isConnectFailure(inner);
}

function isConnectFailure(error: Error): boolean {
  return "code" in error && (error.code === "ECONNREFUSED" || error.code === "EHOSTUNREACH");
}
