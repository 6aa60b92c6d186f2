/**
 * Announces this process to the others of the installation, and lists all of them.
 *
 * A process announces itself every few seconds. Another process considers it silent when its record
 * has not changed for `SILENT_MS`, and removes the record after `FORGET_MS`, both on the observer's
 * own monotonic clock. Where the catalog is not shared there is one process only, and nothing is
 * stored.
 */
import type { ListedServers, ServersUseCase, ShownServer } from "../api/methods/servers.ts";
import type { Clock } from "../lib/clock.ts";
import { within } from "../lib/within.ts";
import type { Catalog } from "../ports/catalog.ts";
import {
  readProcesses,
  removeOwnProcess,
  removeProcess,
  writeProcess,
} from "../records/process-records.ts";
import type { ProcessRecord, StoredProcess } from "../records/process-records.ts";

/** This process, now. */
export type OwnFigures = Omit<ProcessRecord, "announcedAt" | "draining">;

export interface ProcessAnnouncerOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly self: () => OwnFigures;
  readonly viewMaxAgeMs: number;
  readonly onFailed: (error: unknown) => void;
}

const ANNOUNCE_MS = 10_000;
/** Three announcements are missing. */
export const SILENT_MS = 3 * ANNOUNCE_MS;
/** Long enough for an operator to see that a process died. */
export const FORGET_MS = 600_000;
/** How often a process looks for records of processes that are gone. */
const ROUNDS_TO_FORGET = 6;
/** Processes that die at once and start again leave a record each: above this the oldest go. */
const PROCESSES_MAX = 1_000;
/** A process that stops does not wait longer for the catalog. */
const GOODBYE_MS = 2_000;

interface Watched {
  readonly version: number;
  readonly sinceMs: number;
  /** Whether this process saw the record change. */
  readonly changed: boolean;
}

export class ProcessAnnouncer implements ServersUseCase {
  readonly #options: ProcessAnnouncerOptions;
  #watched = new Map<string, Watched>();

  constructor(options: ProcessAnnouncerOptions) {
    this.#options = options;
  }

  /** Until the signal aborts: then it announces that this process drains. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { catalog, clock } = this.#options;
    if (!catalog.shared) return;
    for (let round = 0; !signal.aborted; round++) {
      await this.#try(() => this.#announce(false));
      if (round % ROUNDS_TO_FORGET === 0) await this.#try(() => this.forgetGone());
      await clock.sleep(ANNOUNCE_MS, signal);
    }
    await this.#goodbye(() => this.#announce(true));
  }

  /** The process stops: its record goes. Never rejects. */
  async withdraw(): Promise<void> {
    const { catalog, self } = this.#options;
    if (catalog.shared) await this.#goodbye(() => removeOwnProcess(catalog, self().name));
  }

  async list(): Promise<ListedServers> {
    const { catalog, clock, viewMaxAgeMs } = this.#options;
    const own = this.#own(false);
    const others = catalog.shared ? await this.#others(own.name) : [];
    const servers: ShownServer[] = [{ ...own, silent: false }];
    for (const { key, process } of others) {
      if (process !== undefined) servers.push({ ...process, silent: this.#isSilent(key, process) });
    }
    return {
      servers: servers.sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, PROCESSES_MAX),
      answeredBy: own.name,
      unreadable: others.filter(({ process }) => process === undefined).length,
      viewMaxAgeMs,
      now: clock.nowMicros(),
    };
  }

  /** Removes the records of processes that are gone, once. */
  async forgetGone(): Promise<void> {
    const { catalog, clock, self } = this.#options;
    const others = await this.#others(self().name);
    const nowMs = clock.monotonicMs();
    const known = others.filter(({ process }) => process !== undefined);
    const newestFirst = known.toSorted((a, b) => announcedAt(b) - announcedAt(a));
    for (const [nth, stored] of newestFirst.entries()) {
      const sinceMs = this.#watched.get(stored.key)?.sinceMs ?? nowMs;
      const gone = nowMs - sinceMs >= FORGET_MS || nth >= PROCESSES_MAX;
      if (gone) await removeProcess(catalog, stored);
    }
  }

  /** Also notes which records have changed since the last look. */
  async #others(ownName: string): Promise<StoredProcess[]> {
    const { catalog, clock } = this.#options;
    const others = (await readProcesses(catalog)).filter(({ key }) => key !== ownName);
    const nowMs = clock.monotonicMs();
    const watched = new Map<string, Watched>();
    for (const { key, version } of others) {
      const before = this.#watched.get(key);
      const same = before?.version === version;
      watched.set(key, same ? before : { version, sinceMs: nowMs, changed: before !== undefined });
    }
    this.#watched = watched;
    return others;
  }

  /**
   * A process that has just started has seen no record change yet: it compares clocks, which for
   * people is good enough.
   */
  #isSilent(key: string, process: ProcessRecord): boolean {
    const { clock } = this.#options;
    const { sinceMs, changed } = this.#watched.get(key) ?? { sinceMs: 0, changed: false };
    if (clock.monotonicMs() - sinceMs >= SILENT_MS) return true;
    return !changed && (clock.nowMicros() - process.announcedAt) / 1_000 >= SILENT_MS;
  }

  #own(draining: boolean): ProcessRecord {
    const { clock, self } = this.#options;
    return { ...self(), announcedAt: Math.floor(clock.nowMicros()), draining };
  }

  #announce(draining: boolean): Promise<void> {
    return writeProcess(this.#options.catalog, this.#own(draining));
  }

  #goodbye(work: () => Promise<void>): Promise<void> {
    const { clock } = this.#options;
    return this.#try(() => within(clock, GOODBYE_MS, "the last announcement", work()));
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.onFailed(error);
    }
  }
}

function announcedAt({ process }: StoredProcess): number {
  return process?.announcedAt ?? 0;
}
