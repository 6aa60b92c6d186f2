/** Records each partition that a read opens: from where it is read, how much, and how long. */
import type { Span, Tracer } from "../lib/tracer.ts";
import type { NamespaceView } from "../model/namespace.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { PartitionOpener, PartitionSource } from "../partition/partition-source.ts";
import type { Run } from "../wire/frames.ts";

export function tracedOpener(opener: PartitionOpener, tracer: Tracer): PartitionOpener {
  return {
    open: (view, partition, range, signal) => {
      const span = tracer.child("partition", "INTERNAL", valuesOf(view, partition));
      if (span === undefined) return opener.open(view, partition, range, signal);
      const source = span.run(() => opener.open(view, partition, range, signal));
      return new TracedSource(source, span);
    },
    explain: (view, partition) => opener.explain(view, partition),
  };
}

class TracedSource implements PartitionSource {
  readonly #source: PartitionSource;
  readonly #span: Span;

  constructor(source: PartitionSource, span: Span) {
    this.#source = source;
    this.#span = span;
  }

  get partition(): PartitionKey {
    return this.#source.partition;
  }

  get route(): PartitionSource["route"] {
    return this.#source.route;
  }

  get bytes(): number {
    return this.#source.bytes;
  }

  get events(): number {
    return this.#source.events;
  }

  get originalBytes(): number {
    return this.#source.originalBytes;
  }

  get originalEvents(): number {
    return this.#source.originalEvents;
  }

  get millis(): number {
    return this.#source.millis;
  }

  async next(): Promise<Run | undefined> {
    try {
      return await this.#span.run(() => this.#source.next());
    } catch (error) {
      this.#end(error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  isWithdrawn(): Promise<boolean> {
    return this.#source.isWithdrawn();
  }

  async close(): Promise<void> {
    await this.#source.close();
    this.#end(undefined);
  }

  #end(error: string | undefined): void {
    const { route, bytes, events, millis } = this.#source;
    this.#span.set({
      "braid.route": route.route,
      "braid.route_why": route.why,
      "braid.parts": route.parts,
      "braid.bytes": bytes,
      "braid.events": events,
      // Without the time in which nobody asked for more.
      "braid.read_ms": millis,
    });
    this.#span.end(error);
  }
}

function valuesOf(
  { namespace }: NamespaceView,
  { slice, timeBucket, eventBucket }: PartitionKey,
): Record<string, string | number> {
  return {
    "braid.namespace": namespace.name,
    "braid.slice": slice,
    "braid.time_bucket": timeBucket,
    "braid.event_bucket": eventBucket,
  };
}
