/**
 * The namespaces of the installation, for metrics: the counters of a namespace exist at zero before
 * anything happens in it, and disappear when it is deleted. Also holds the read modes.
 *
 * It lists the catalog, because a process has views only of the namespaces in use. Its knowledge is
 * as old as the last listing, except for changes by this process.
 */
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { NamespaceView } from "../model/namespace.ts";
import { READ_MODES } from "../model/read-mode.ts";
import type { ReadMode } from "../model/read-mode.ts";
import type { Catalog } from "../ports/catalog.ts";
import { eachNamespace } from "../records/namespace-records.ts";

/**
 * A listing is one read of the catalog, so it can be frequent; a new namespace rarely waits for it.
 */
const EVERY_MS = 30_000;

export interface KnownNamespacesOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

export class KnownNamespaces {
  readonly #options: KnownNamespacesOptions;
  readonly #readModes = new Map<string, ReadMode>();
  /** Changed by this process since the listing began: the listing may be older. */
  readonly #changed = new Set<string>();

  constructor(options: KnownNamespacesOptions) {
    this.#options = options;
  }

  /** This process has changed the namespace; this is its new state. */
  changed({ namespace }: NamespaceView): void {
    this.#options.metrics.addNamespace(namespace.name);
    this.#readModes.set(namespace.name, namespace.readMode.mode);
    this.#changed.add(namespace.name);
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.refresh();
      } catch {
        // The last listing stays. Requests that need the catalog fail and are counted.
      }
      await this.#options.clock.sleep(EVERY_MS, signal);
    }
  }

  async refresh(): Promise<void> {
    const { catalog, metrics } = this.#options;
    // The list may lack a namespace that this process first saw during the listing.
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

  /** 1 or 0 for each namespace and mode. */
  *readModes(): Generator<{ value: number; labels: [string, ReadMode] }, void, undefined> {
    for (const [name, current] of this.#readModes) {
      for (const mode of READ_MODES)
        yield { value: mode === current ? 1 : 0, labels: [name, mode] };
    }
  }
}
