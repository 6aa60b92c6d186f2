/**
 * Advances read modes automatically when their evidence passes, and falls back when reads have
 * found a difference.
 *
 * Any number of processes may do this at once: each change is compare-and-set on the namespace, for
 * the round whose evidence was read, so a fall-back in between wins.
 */
import type { Clock } from "../../lib/clock.ts";
import { eachNamespace, namespaceNotFound } from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { readEvidence } from "../../records/evidence-records.ts";
import { addServedKinds, setReadMode } from "../record/set-read-mode.ts";
import { kindName } from "../../model/split-kind.ts";
import type { Evidence, ReadMode } from "../../model/read-mode.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { advance, DEFAULT_ADVANCE } from "./advance.ts";
import type { Advance, AdvanceThresholds, KindInUse } from "./advance.ts";
import { KindsInUse } from "./kinds-in-use.ts";

export interface ModeChange {
  readonly namespace: string;
  readonly from: ReadMode;
  readonly to: ReadMode;
  readonly reason: string;
}

export interface ReadModeReconcilerOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** The name of this process. */
  readonly by: string;
  readonly thresholds?: AdvanceThresholds;
  /**
   * The kinds of splits that a namespace has; undefined if it has none. By default, they are read
   * from the routes.
   */
  readonly kindsInUse?: (namespace: NamespaceRecord) => Promise<readonly KindInUse[] | undefined>;
  readonly namespaceChanged?: (name: string) => Promise<void>;
  readonly observe?: (change: ModeChange) => void;
  /** Called for a namespace whose check failed; the next round follows as usual. */
  readonly onFailed?: (namespace: string, error: unknown) => void;
  readonly everyMs?: number;
}

const EVERY_MS = 10_000;

export class ReadModeReconciler {
  readonly #options: ReadModeReconcilerOptions;
  readonly #kindsInUse: NonNullable<ReadModeReconcilerOptions["kindsInUse"]>;

  constructor(options: ReadModeReconcilerOptions) {
    this.#options = options;
    const kinds = new KindsInUse(options.catalog, options.clock);
    this.#kindsInUse = options.kindsInUse ?? ((namespace) => kinds.of(namespace));
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, everyMs = EVERY_MS, onFailed } = this.#options;
    while (!signal.aborted) {
      try {
        await this.runOnce(signal);
      } catch (error) {
        onFailed?.("", error);
      }
      await clock.sleep(everyMs, signal);
    }
  }

  /** Checks every namespace once. A failure in one does not keep the others from being checked. */
  async runOnce(signal?: AbortSignal): Promise<void> {
    for await (const { name, record } of eachNamespace(this.#options.catalog, signal)) {
      if (record instanceof Error || record.phase !== "READY") continue;
      try {
        await this.#advance(record);
      } catch (error) {
        this.#options.onFailed?.(name, error);
      }
    }
  }

  async #advance(record: NamespaceRecord): Promise<void> {
    const { catalog, clock, thresholds = DEFAULT_ADVANCE } = this.#options;
    const { mode, autoAdvance, round, kinds } = record.readMode;
    // The two ends cost nothing: evidence leaves neither, and SERVE for all kinds has none to add.
    if (!autoAdvance || mode === "OFF" || (mode === "SERVE" && kinds === null)) return;
    const evidence = await readEvidence(catalog, record.id);
    const served = mode === "SERVE" ? (kinds ?? []) : [];
    const tells = (each: Evidence): boolean =>
      each.round === round && !served.includes(kindName(each));
    if (!evidence.some(tells)) return;
    const now = clock.nowMicros();
    const inUse = await this.#kindsInUse(record);
    const next = advance(record.readMode, evidence, inUse, thresholds, now);
    if (next.kind === "stay") return;
    const advanced =
      next.to === mode
        ? await addServedKinds(catalog, record, next.kinds)
        : await this.#goOn(record, next, now);
    if (!advanced) return;
    this.#options.observe?.({ namespace: record.name, from: mode, to: next.to, reason: next.why });
    await this.#options.namespaceChanged?.(record.name);
  }

  async #goOn(
    record: NamespaceRecord,
    { to: mode, kinds, why: reason }: Advance & { readonly kind: "advance" },
    since: number,
  ): Promise<boolean> {
    const { catalog, by } = this.#options;
    let advanced = false;
    await setReadMode(catalog, record.name, (current) => {
      advanced = isSameRound(current, record);
      const { autoAdvance } = current.readMode;
      const served = mode === "SERVE" ? kinds : null;
      return advanced ? { mode, autoAdvance, since, by, reason, kinds: served } : undefined;
    });
    return advanced;
  }
}

/**
 * A difference was confirmed (rule C14): the namespace serves originals again, and its evidence
 * starts over. OFF stays OFF. True if the mode was changed. Rejects with NAMESPACE_NOT_FOUND if
 * another namespace has the name by now.
 */
export async function fallBack(
  catalog: Catalog,
  clock: Clock,
  { name, id }: Pick<NamespaceRecord, "name" | "id">,
  reason: string,
  by: string,
): Promise<boolean> {
  let fellBack = false;
  await setReadMode(catalog, name, (current) => {
    if (current.id !== id) throw namespaceNotFound(name);
    const { mode, autoAdvance } = current.readMode;
    fellBack = mode !== "OFF";
    const since = clock.nowMicros();
    return fellBack ? { mode: "SHADOW", autoAdvance, since, by, reason, kinds: null } : undefined;
  });
  return fellBack;
}

function isSameRound(current: NamespaceRecord, seen: NamespaceRecord): boolean {
  return (
    current.id === seen.id &&
    current.readMode.autoAdvance &&
    current.readMode.round === seen.readMode.round
  );
}
