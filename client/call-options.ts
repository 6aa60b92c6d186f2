/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** The longest wait for an answer, retries included; for a stream, for its next page. */
  readonly deadlineMs?: number | undefined;
}
