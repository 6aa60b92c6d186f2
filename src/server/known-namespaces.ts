/**
 * The namespaces of the installation, for metrics: the counters of a namespace exist at zero before
 * anything happens in it, and disappear when it is deleted. Also holds what gauges show of each:
 * its read mode, whether its splits are paused, and how fast its reads should be.
 *
 * It lists the catalog, because a process has views only of the namespaces in use. Its knowledge is
 * as old as the last listing, except for changes by this process.
 */
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { Namespace, NamespaceView } from "../model/namespace.ts";
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

/** The two limits of `slos.read`. */
export const SLO_BOUNDS = ["target", "max"] as const;

type SloBound = (typeof SLO_BOUNDS)[number];

/** What gauges show of a namespace. */
interface Shown {
  readonly mode: ReadMode;
  readonly paused: boolean;
  readonly readSloMs: Readonly<Record<SloBound, number>>;
}

export class KnownNamespaces {
  readonly #options: KnownNamespacesOptions;
  readonly #shown = new Map<string, Shown>();
  /** Changed by this process since the listing began: the listing may be older. */
  readonly #changed = new Set<string>();

  constructor(options: KnownNamespacesOptions) {
    this.#options = options;
  }

  /** This process has changed the namespace; this is its new state. */
  changed({ namespace }: NamespaceView): void {
    this.#options.metrics.addNamespace(namespace.name);
    this.#shown.set(namespace.name, shownOf(namespace));
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
    const listed = new Map<string, Shown | undefined>();
    for await (const { name, record } of eachNamespace(catalog)) {
      if (record instanceof Error) listed.set(name, undefined);
      else if (record.phase === "READY") listed.set(name, shownOf(record));
    }
    for (const name of before) if (!listed.has(name)) metrics.removeNamespace(name);
    for (const name of this.#shown.keys()) {
      if (!this.#changed.has(name)) this.#shown.delete(name);
    }
    for (const [name, shown] of listed) {
      metrics.addNamespace(name);
      if (shown !== undefined && !this.#changed.has(name)) this.#shown.set(name, shown);
    }
  }

  /** 1 or 0 for each namespace and mode. */
  *readModes(): Generator<{ value: number; labels: [string, ReadMode] }, void, undefined> {
    for (const [name, shown] of this.#shown) {
      for (const mode of READ_MODES) {
        yield { value: mode === shown.mode ? 1 : 0, labels: [name, mode] };
      }
    }
  }

  /** 1 for a namespace whose splits an operator has paused, 0 for the others. */
  *paused(): Generator<{ value: number; labels: [string] }, void, undefined> {
    for (const [name, { paused }] of this.#shown) yield { value: paused ? 1 : 0, labels: [name] };
  }

  /** How long a page of a read should take, in seconds. */
  *readSlos(): Generator<{ value: number; labels: [string, SloBound] }, void, undefined> {
    for (const [name, { readSloMs }] of this.#shown) {
      for (const bound of SLO_BOUNDS) {
        yield { value: readSloMs[bound] / 1_000, labels: [name, bound] };
      }
    }
  }
}

function shownOf({ readMode, splitsPaused, config }: Namespace): Shown {
  const { targetMs, maxMs } = config.slos.read;
  return {
    mode: readMode.mode,
    paused: splitsPaused !== null,
    readSloMs: { target: targetMs, max: maxMs },
  };
}
