/**
 * A partition that a read found wider than its namespace allows. It passes through the queue as
 * JSON.
 *
 * Its sizes are a lower bound, seen by one read; only a scan of the whole partition knows the size.
 * Bytes that do not decode are reported with the reason. `docs/specs/detections.md` has the format.
 */
import { z } from "zod";
import { fromUtf8, utf8 } from "../lib/bytes.ts";
import { formatTime, parseTime } from "../wire/time-text.ts";
import { namespaceNameProblem } from "./check-config.ts";

export interface Detection {
  readonly namespace: string;
  readonly timeSlice: string;
  readonly timeSeriesId: string;
  readonly timeBucket: number;
  readonly eventBucket: number;
  /** Whether all of its time was sealed when the read saw it: nothing is written there any more. */
  readonly immutable: boolean;
  /**
   * Of the namespace at that time. A detection of an older epoch than the namespace's does nothing
   * (rule C17).
   */
  readonly epoch: number;
  /** At least this many. */
  readonly bytes: number;
  readonly events: number;
  /** Microseconds, by the clock of the process that saw it. */
  readonly detectedAt: number;
}

export type DecodedDetection =
  | { readonly kind: "detection"; readonly detection: Detection }
  | { readonly kind: "malformed"; readonly why: string };

const SERIES_ID_BYTES_MAX = 512;

/** Detections of one partition share this key, so they go to one partition of the queue. */
export function detectionKey(detection: Detection): string {
  const { namespace, timeSlice, timeSeriesId, timeBucket, eventBucket } = detection;
  return `${namespace}|${timeSlice}|${timeSeriesId}|${timeBucket}|${eventBucket}`;
}

export function encodeDetection(detection: Detection): Uint8Array {
  const message: z.input<typeof messageSchema> = {
    namespace: detection.namespace,
    time_slice: detection.timeSlice,
    time_series_id: detection.timeSeriesId,
    time_bucket: detection.timeBucket,
    event_bucket: detection.eventBucket,
    immutable: detection.immutable,
    version: `${detection.epoch}`,
    bytes: detection.bytes,
    events: detection.events,
    detected_at: formatTime(detection.detectedAt),
  };
  return utf8(JSON.stringify(message));
}

export function decodeDetection(bytes: Uint8Array): DecodedDetection {
  let value: unknown;
  try {
    value = JSON.parse(fromUtf8(bytes));
  } catch {
    // The parser's message contains fragments of the text, and reasons go to the log.
    return { kind: "malformed", why: "it is not JSON in UTF-8" };
  }
  const parsed = messageSchema.safeParse(value);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      ({ path, message }) => `${path.join(".") || "message"}: ${message}`,
    );
    return { kind: "malformed", why: problems.join("; ") };
  }
  const message = parsed.data;
  return {
    kind: "detection",
    detection: {
      namespace: message.namespace,
      timeSlice: message.time_slice,
      timeSeriesId: message.time_series_id,
      timeBucket: message.time_bucket,
      eventBucket: message.event_bucket,
      immutable: message.immutable,
      epoch: Number(message.version),
      bytes: message.bytes,
      events: message.events,
      detectedAt: message.detected_at,
    },
  };
}

const count = z.int().nonnegative();

/** A newer version may add fields: they are ignored (rule C28). */
const messageSchema = z.object({
  namespace: z.string().refine((name) => namespaceNameProblem(name) === undefined, {
    error: "is not the name of a namespace",
  }),
  time_slice: z.string().regex(/^data_\d{8}(?:_\d{4}(?:\d{2})?)?$/, "is not the name of a slice"),
  time_series_id: z
    .string()
    .min(1)
    .refine((id) => id.isWellFormed() && utf8(id).length <= SERIES_ID_BYTES_MAX, {
      error: `must be at most ${SERIES_ID_BYTES_MAX} bytes of UTF-8`,
    }),
  time_bucket: count,
  event_bucket: count,
  immutable: z.boolean(),
  // A number holds 15 digits exactly.
  version: z.string().regex(/^(?:0|[1-9]\d{0,14})$/, "must be a whole number, as text"),
  bytes: count,
  events: count,
  detected_at: z.string().transform((text, context) => {
    const micros = parseTime(text);
    if (typeof micros === "number") return micros;
    context.addIssue({ code: "custom", message: "must be a time with at most microseconds" });
    return z.NEVER;
  }),
});
