/**
 * The namespaces of the installation, as metrics show them: counters of each one exist at zero before anything
 * happens in it, and go away when it is deleted. Also holds their read modes.
 *
 * It lists the catalog, because a process has views only of the namespaces in use. What it knows is as old as
 * the last listing, except for what this process changed itself.
 */
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { NamespaceView } from "../model/namespace.ts";
import { READ_MODES } from "../model/read-mode.ts";
import type { ReadMode } from "../model/read-mode.ts";
import type { Catalog } from "../ports/catalog.ts";
import { eachNamespace } from "../records/namespace-records.ts";

/** One read of the catalog, so it may be often; a new namespace seldom waits for it. */
const EVERY_MS = 30_000;

export interface KnownNamespacesOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

export class KnownNamespaces {
  readonly #options: KnownNamespacesOptions;
  readonly #readModes = new Map<string, ReadMode>();
  /** Changed by this process since the listing began: what is listed may be older. */
  readonly #changed = new Set<string>();

  constructor(options: KnownNamespacesOptions) {
    this.#options = options;
  }

  /** This process has changed the namespace and sees it like this. */
  changed({ namespace }: NamespaceView): void {
    this.#options.metrics.addNamespace(namespace.name);
    this.#readModes.set(namespace.name, namespace.readMode.mode);
    this.#changed.add(namespace.name);
  }

  /** Until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.refresh();
      } catch {
        // What was known stays; requests that need the catalog fail and are counted.
      }
      await this.#options.clock.sleep(EVERY_MS, signal);
    }
  }

  async refresh(): Promise<void> {
    const { catalog, metrics } = this.#options;
    // A namespace that is first seen while this lists may be missing from the list.
    const before = metrics.namespaces();
    this.#changed.clear();
    const listed = new Map<string, ReadMode | undefined>();
    for await (const { name, record } of eachNamespace(catalog)) {
      if (record instanceof Error) listed.set(name, undefined);
      else if (record.phase === "READY") listed.set(name, record.readMode.mode);
    }
    for (const name of before) if (!listed.has(name)) metrics.removeNamespace(name);
    for (const name of this.#readModes.keys()) {
      if (!this.#changed.has(name)) this.#readModes.delete(name);
    }
    for (const [name, mode] of listed) {
      metrics.addNamespace(name);
      if (mode !== undefined && !this.#changed.has(name)) this.#readModes.set(name, mode);
    }
  }

  /** For each namespace and mode 1 or 0. */
  *readModes(): Generator<{ value: number; labels: [string, ReadMode] }, void, undefined> {
    for (const [name, current] of this.#readModes) {
      for (const mode of READ_MODES)
        yield { value: mode === current ? 1 : 0, labels: [name, mode] };
    }
  }
}
