/**
 * How far reads trust splits, as operators see and set it.
 *
 * A mode advances only one step at a time and on evidence, unless it is forced; it can fall back at
 * any time. Every change begins a new round, which starts without evidence (rule C13), and records
 * the operator and the reason.
 */
import type { KillSwitchState } from "../../model/read-mode.ts";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { readKillSwitch, writeKillSwitch } from "../record/kill-switch.ts";
import {
  readReadyNamespace,
  requireReady,
  updateNamespace,
} from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { readEvidence } from "../../records/evidence-records.ts";
import type { ReadMode, ReadModeState } from "../../model/read-mode.ts";
import type { ReadModeReport, ReadModeUseCases, OperatorRequest } from "../use-cases.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { advance, DEFAULT_ADVANCE, isFurther, modeAfter } from "./advance.ts";
import type { Advance, AdvanceThresholds } from "./advance.ts";
import { KindsInUse } from "./kinds-in-use.ts";

export interface ReadModesOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly thresholds?: AdvanceThresholds;
  /** Refreshes this process's view of a namespace. */
  readonly namespaceChanged?: (name: string) => Promise<void>;
  /** Refreshes this process's copy of the kill switch. */
  readonly killSwitchChanged?: () => Promise<void>;
  /** Receives every request to set the kill switch, and whether it was already set so. */
  readonly observeKillSwitch?: (asked: KillSwitchState, unchanged: boolean) => void;
}

export class ReadModes implements ReadModeUseCases {
  readonly #options: ReadModesOptions;
  readonly #thresholds: AdvanceThresholds;
  readonly #kinds: KindsInUse;

  constructor(options: ReadModesOptions) {
    this.#options = options;
    this.#thresholds = options.thresholds ?? DEFAULT_ADVANCE;
    this.#kinds = new KindsInUse(options.catalog, options.clock);
  }

  async get(namespace: string): Promise<ReadModeReport> {
    const record = await readReadyNamespace(this.#options.catalog, namespace);
    return (await this.#assess(record)).report;
  }

  async set(
    namespace: string,
    mode: ReadMode,
    options: { readonly force: boolean; readonly autoAdvance: boolean | undefined },
    operatorRequest: OperatorRequest,
  ): Promise<ReadModeReport> {
    const { catalog, clock, namespaceChanged } = this.#options;
    const seen = await readReadyNamespace(catalog, namespace);
    const { report, next: onEvidence } = await this.#assess(seen);
    if (!options.force) checkAllowed(report, mode);
    const changed = await updateNamespace(catalog, namespace, (current) => {
      const { readMode } = requireReady(current, namespace);
      // The evidence allowed the change only for the round that was read.
      const overtaken = readMode.round !== report.state.round;
      if (overtaken && !options.force && isFurther(mode, readMode.mode)) throw notAsSeen(namespace);
      const passed = overtaken ? [] : kindsOf(onEvidence, mode);
      const next = withOperator(
        readMode,
        mode,
        { ...options, passed },
        operatorRequest,
        clock.nowMicros(),
      );
      return next === undefined ? undefined : { ...current, readMode: next };
    });
    await namespaceChanged?.(namespace);
    return (await this.#assess(changed)).report;
  }

  killSwitch(): Promise<KillSwitchState> {
    return readKillSwitch(this.#options.catalog);
  }

  async setKillSwitch(
    on: boolean,
    { by, reason }: OperatorRequest,
  ): Promise<KillSwitchState & { readonly unchanged: boolean }> {
    const { catalog, clock, killSwitchChanged, observeKillSwitch } = this.#options;
    const asked = { on, at: clock.nowMicros(), by, reason };
    const { state, unchanged } = await writeKillSwitch(catalog, asked);
    observeKillSwitch?.(asked, unchanged);
    await killSwitchChanged?.();
    return { ...state, unchanged };
  }

  async #assess(
    namespace: NamespaceRecord,
  ): Promise<{ readonly report: ReadModeReport; readonly next: Advance }> {
    const { catalog, clock } = this.#options;
    const { id, name, readMode, splitsPaused } = namespace;
    const all = await readEvidence(catalog, id);
    const kinds = await this.#kinds.of(namespace);
    const evidence = all.filter(({ round }) => round === readMode.round);
    const next = advance(readMode, all, kinds, this.#thresholds, clock.nowMicros());
    const nextMode = modeAfter(readMode.mode);
    const blockedBy = next.kind === "advance" ? whyWaiting(readMode) : next.why;
    const report = {
      state: readMode,
      evidence,
      nextMode,
      blockedBy,
      killSwitch: await readKillSwitch(catalog),
      splitsPaused: splitsPaused === null ? undefined : { namespace: name, ...splitsPaused },
    };
    return { report, next };
  }
}

/** The kinds whose evidence passes, if it leads to that mode. */
function kindsOf(next: Advance, mode: ReadMode): readonly string[] {
  return next.kind === "advance" && next.to === mode ? next.kinds : [];
}

/**
 * Undefined if there is nothing to change. Setting the same mode keeps its round and evidence,
 * unless it is forced: then a new round begins. SERVE applies to the kinds of splits whose evidence
 * passes; if forced, to all.
 */
function withOperator(
  state: ReadModeState,
  mode: ReadMode,
  options: {
    readonly force: boolean;
    readonly autoAdvance: boolean | undefined;
    readonly passed: readonly string[];
  },
  { by, reason }: OperatorRequest,
  nowMicros: number,
): ReadModeState | undefined {
  const { force, passed } = options;
  const autoAdvance = options.autoAdvance ?? state.autoAdvance;
  if (mode === state.mode && !force) {
    const more = passed.filter((kind) => state.kinds?.includes(kind) === false);
    if (autoAdvance === state.autoAdvance && more.length === 0) return undefined;
    const kinds = state.kinds === null ? null : [...state.kinds, ...more];
    return { ...state, autoAdvance, kinds };
  }
  const kinds = mode === "SERVE" && !force ? passed : null;
  const recorded = force ? `forced${reason === "" ? "" : `: ${reason}`}` : reason;
  return {
    mode,
    autoAdvance,
    since: nowMicros,
    by,
    reason: recorded,
    round: state.round + 1,
    kinds,
  };
}

function checkAllowed({ state, nextMode, blockedBy }: ReadModeReport, mode: ReadMode): void {
  if (!isFurther(mode, state.mode)) return;
  if (mode !== nextMode) {
    throw new ServiceError(
      "CONFLICT",
      `modes go one step at a time, and ${nextMode} comes after ${state.mode}: set that first, or set the mode with force`,
    );
  }
  // Leaving OFF needs no evidence, nor does a mode that waits only for an operator's request, which
  // this is.
  if (state.mode === "OFF" || blockedBy === "" || blockedBy === NOT_BY_ITSELF) return;
  throw notAllowed(blockedBy);
}

const NOT_BY_ITSELF = "autoAdvance is off: the evidence passes, set the mode to go on";

function whyWaiting({ autoAdvance }: ReadModeState): string {
  return autoAdvance ? "" : NOT_BY_ITSELF;
}

function notAllowed(why: string): ServiceError {
  return new ServiceError(
    "CONFLICT",
    `the evidence does not allow it: ${why}; wait for it, or set the mode with force`,
  );
}

function notAsSeen(namespace: string): ServiceError {
  return new ServiceError(
    "CONFLICT",
    `the read mode of namespace "${namespace}" was changed by someone else meanwhile; look at it and try again`,
    { details: { namespace }, retryAfterMs: 1_000 },
  );
}
