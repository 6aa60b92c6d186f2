/**
 * Puts the detections of reads onto the queue, at most once per partition and time window.
 *
 * It never slows a read: it returns at once, waits for nothing, and remembers a bounded number of
 * emitted detections. A later read detects again what was forgotten or dropped. A detection emitted
 * twice, by this server or by another, still makes only one record.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../lib/clock.ts";
import { detectionKey, encodeDetection } from "../../model/detection.ts";
import type { Detection } from "../../model/detection.ts";
import type { NamespaceView } from "../../model/namespace.ts";
import type { PublishOutcome, QueueMessage } from "../../ports/work-queue.ts";
import { detectWide } from "./detect-wide.ts";
import type { NotDetected, ReadWidth } from "./detect-wide.ts";

/** For `braid_detections_total{outcome}`. Narrow reads are not counted. */
export type DetectionOutcome = "emitted" | "repeated" | "dropped" | Exclude<NotDetected, "narrow">;

export interface DetectionEmitterOptions {
  readonly clock: Clock;
  readonly publish: (message: QueueMessage) => PublishOutcome;
  readonly observe?: (namespace: string, outcome: DetectionOutcome) => void;
  /** A partition is emitted at most once within this time. */
  readonly windowMs?: number;
  /** How many partitions are remembered; beyond it, the one emitted longest ago is forgotten. */
  readonly rememberedMax?: number;
}

export class DetectionEmitter {
  readonly #clock: Clock;
  readonly #publish: (message: QueueMessage) => PublishOutcome;
  readonly #observe: (namespace: string, outcome: DetectionOutcome) => void;
  readonly #windowMs: number;
  /**
   * When each partition was emitted, on the monotonic clock. Evicts the one emitted longest ago.
   */
  readonly #emittedAtMs: LRUCache<string, number>;

  constructor(options: DetectionEmitterOptions) {
    this.#clock = options.clock;
    this.#publish = options.publish;
    this.#observe = options.observe ?? (() => undefined);
    this.#windowMs = options.windowMs ?? 600_000;
    this.#emittedAtMs = new LRUCache({ max: options.rememberedMax ?? 10_000 });
  }

  /** `view` is the view with which the read was made. */
  note(read: ReadWidth, view: NamespaceView): void {
    const { bytesMax, eventsMax } = view.namespace.config.widePartition;
    // Checked here too, so that a narrow partition does not cost a read of the clock.
    if (read.bytes <= bytesMax && read.events <= eventsMax) return;
    const found = detectWide(read, view, this.#clock.nowMicros());
    if (found === "narrow") return;
    const outcome = typeof found === "string" ? found : this.#emit(found, view.namespace.id);
    this.#observe(view.namespace.name, outcome);
  }

  #emit(detection: Detection, namespaceId: string): DetectionOutcome {
    const nowMs = this.#clock.monotonicMs();
    const key = detectionKey(detection);
    // A recreated namespace, and one whose sealed time was re-opened, start over.
    const remembered = `${namespaceId}|${detection.epoch}|${key}`;
    const emittedAtMs = this.#emittedAtMs.peek(remembered);
    if (emittedAtMs !== undefined && nowMs - emittedAtMs < this.#windowMs) return "repeated";
    const outcome = this.#publish({ key, value: encodeDetection(detection) });
    if (outcome === "dropped") return "dropped";
    this.#emittedAtMs.set(remembered, nowMs);
    return "emitted";
  }
}
