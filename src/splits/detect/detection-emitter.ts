/**
 * Puts what reads notice onto the queue, once for each partition and interval of time.
 *
 * Never slows a read: it returns at once, waits for nothing, and holds a bounded memory of what it
 * has emitted. What is forgotten or dropped is noticed again by a later read; what is emitted
 * twice, here or by another server, is one record in the end.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../lib/clock.ts";
import { detectionKey, encodeDetection } from "../../model/detection.ts";
import type { Detection } from "../../model/detection.ts";
import type { NamespaceView } from "../../model/namespace.ts";
import type { PublishOutcome, QueueMessage } from "../../ports/work-queue.ts";
import { detectWide } from "./detect-wide.ts";
import type { NotDetected, ReadWidth } from "./detect-wide.ts";

/** For `braid_detections_total{outcome}`. What is narrow is not counted. */
export type DetectionOutcome = "emitted" | "repeated" | "dropped" | Exclude<NotDetected, "narrow">;

export interface DetectionEmitterOptions {
  readonly clock: Clock;
  readonly publish: (message: QueueMessage) => PublishOutcome;
  readonly observe?: (namespace: string, outcome: DetectionOutcome) => void;
  /** A partition is emitted at most once within this. */
  readonly windowMs?: number;
  /** How many partitions are remembered; beyond it the one emitted longest ago is forgotten. */
  readonly rememberedMax?: number;
}

export class DetectionEmitter {
  readonly #clock: Clock;
  readonly #publish: (message: QueueMessage) => PublishOutcome;
  readonly #observe: (namespace: string, outcome: DetectionOutcome) => void;
  readonly #windowMs: number;
  /** When each was emitted, on the monotonic clock. The one emitted longest ago goes first. */
  readonly #emittedAtMs: LRUCache<string, number>;

  constructor(options: DetectionEmitterOptions) {
    this.#clock = options.clock;
    this.#publish = options.publish;
    this.#observe = options.observe ?? (() => undefined);
    this.#windowMs = options.windowMs ?? 600_000;
    this.#emittedAtMs = new LRUCache({ max: options.rememberedMax ?? 10_000 });
  }

  /** `view` is the one the read was made with. */
  note(read: ReadWidth, view: NamespaceView): void {
    const { bytesMax, eventsMax } = view.namespace.config.widePartition;
    // Said here too, so that the clock is not read for every narrow partition.
    if (read.bytes <= bytesMax && read.events <= eventsMax) return;
    const found = detectWide(read, view, this.#clock.nowMicros());
    if (found === "narrow") return;
    const outcome = typeof found === "string" ? found : this.#emit(found, view.namespace.id);
    this.#observe(view.namespace.name, outcome);
  }

  #emit(detection: Detection, namespaceId: string): DetectionOutcome {
    const nowMs = this.#clock.monotonicMs();
    const key = detectionKey(detection);
    // A namespace made again, and one whose time was opened again, start over.
    const remembered = `${namespaceId}|${detection.epoch}|${key}`;
    const emittedAtMs = this.#emittedAtMs.peek(remembered);
    if (emittedAtMs !== undefined && nowMs - emittedAtMs < this.#windowMs) return "repeated";
    const outcome = this.#publish({ key, value: encodeDetection(detection) });
    if (outcome === "dropped") return "dropped";
    this.#emittedAtMs.set(remembered, nowMs);
    return "emitted";
  }
}
