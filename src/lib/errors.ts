/**
 * The failures that a caller can receive: one table of codes, one error class.
 *
 * A refusal that is an ordinary result is not an error, and a bug is an `assert`.
 */
interface CodeTraits {
  readonly http: number;
  readonly grpc: number;
  /** Whether the same request may succeed later, so that a client may repeat it. */
  readonly retry: boolean;
}

const grpc = {
  PERMISSION_DENIED: 7,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  RESOURCE_EXHAUSTED: 8,
  ABORTED: 10,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
} as const;

export const CODES = {
  REQUEST_INVALID: { http: 400, grpc: grpc.INVALID_ARGUMENT, retry: false },
  CONFIG_INVALID: { http: 400, grpc: grpc.INVALID_ARGUMENT, retry: false },
  PAGE_TOKEN_INVALID: { http: 400, grpc: grpc.INVALID_ARGUMENT, retry: false },
  PAGE_TOKEN_EXPIRED: { http: 400, grpc: grpc.INVALID_ARGUMENT, retry: false },
  NAMESPACE_NOT_FOUND: { http: 404, grpc: grpc.NOT_FOUND, retry: false },
  TIME_SLICE_NOT_FOUND: { http: 404, grpc: grpc.NOT_FOUND, retry: false },
  PARTITION_NOT_FOUND: { http: 404, grpc: grpc.NOT_FOUND, retry: false },
  SPLIT_NOT_FOUND: { http: 404, grpc: grpc.NOT_FOUND, retry: false },
  VERIFY_NOT_FOUND: { http: 404, grpc: grpc.NOT_FOUND, retry: false },
  TUNING_NOT_FOUND: { http: 404, grpc: grpc.NOT_FOUND, retry: false },
  METHOD_NOT_FOUND: { http: 404, grpc: grpc.UNIMPLEMENTED, retry: false },
  NOT_SUPPORTED: { http: 501, grpc: grpc.UNIMPLEMENTED, retry: false },
  FRAMING_INVALID: { http: 400, grpc: grpc.INTERNAL, retry: false },
  NAMESPACE_EXISTS: { http: 409, grpc: grpc.ALREADY_EXISTS, retry: false },
  CONFLICT: { http: 409, grpc: grpc.ABORTED, retry: true },
  ID_BLOCKED: { http: 403, grpc: grpc.PERMISSION_DENIED, retry: false },
  REQUEST_TOO_LARGE: { http: 413, grpc: grpc.RESOURCE_EXHAUSTED, retry: false },
  OVERLOADED: { http: 429, grpc: grpc.RESOURCE_EXHAUSTED, retry: true },
  STORAGE_UNAVAILABLE: { http: 503, grpc: grpc.UNAVAILABLE, retry: true },
  DEADLINE_EXCEEDED: { http: 504, grpc: grpc.DEADLINE_EXCEEDED, retry: true },
  OUTCOME_UNKNOWN: { http: 504, grpc: grpc.DEADLINE_EXCEEDED, retry: true },
  DATA_LOSS: { http: 500, grpc: grpc.DATA_LOSS, retry: false },
  INTERNAL: { http: 500, grpc: grpc.INTERNAL, retry: false },
} as const satisfies Record<string, CodeTraits>;

export type Code = keyof typeof CODES;

/** Codes of single events of a batch; the batch itself succeeds. */
export type EventCode =
  | "EVENT_TOO_OLD"
  | "EVENT_TOO_NEW"
  | "EVENT_TOO_LARGE"
  | "EVENT_INVALID"
  | "ID_BLOCKED"
  | "OVERLOADED"
  | "OUTCOME_UNKNOWN";

/** The contents of `details`: ids and limits, never payloads. */
export type ErrorDetails = Readonly<Record<string, string | number | boolean | readonly string[]>>;

export class ServiceError extends Error {
  readonly code: Code;
  readonly details: ErrorDetails;
  /** When a repeat may succeed, if that is known. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: Code,
    message: string,
    options: { details?: ErrorDetails; cause?: unknown; retryAfterMs?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ServiceError";
    this.code = code;
    this.details = options.details ?? {};
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** A claim that only a bug can break. Never caught to carry on. */
export function assert(claim: boolean, what: string): asserts claim {
  if (!claim) throw new Error(`assertion failed: ${what}`);
}
