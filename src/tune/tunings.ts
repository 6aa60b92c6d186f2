/** The use cases of the API: lists tunings, decides proposals, and shows what would be proposed. */
import { ServiceError } from "../lib/errors.ts";
import type { NoTuning } from "../model/no-tuning.ts";
import type { Tuning, TuningProposal } from "../model/tuning.ts";
import { readReadyNamespace } from "../records/namespace-records.ts";
import { readTuning, readTunings } from "../records/tuning-records.ts";
import type { TuningRecord } from "../records/tuning-records.ts";
import { decideTuning } from "./decide-tuning.ts";
import { applyTuning, isConflict, moveTuning, settleTuning } from "./move-tuning.ts";
import { proposalOf } from "./new-tuning.ts";
import type { TuneContext } from "./tune-context.ts";
import { factsOf, TUNER } from "./tune-namespace.ts";

export interface TuningList {
  /** Oldest first. */
  readonly tunings: readonly Tuning[];
  /** What the tuner would propose now. */
  readonly next: TuningProposal | undefined;
  /** Why it would propose nothing. */
  readonly nothing: NoTuning | undefined;
}

export interface TuningChoice {
  readonly id: string;
  readonly accept: boolean;
  readonly by: string;
  readonly reason: string;
}

export class Tunings {
  readonly #context: TuneContext;

  constructor(context: TuneContext) {
    this.#context = context;
  }

  async list(namespace: string): Promise<TuningList> {
    const { catalog, unreadable } = this.#context;
    const record = await readReadyNamespace(catalog, namespace);
    const tunings = await readTunings(catalog, record.id, unreadable);
    const decision = decideTuning(await factsOf(this.#context, record, tunings));
    if (decision.kind === "none") return { tunings, next: undefined, nothing: decision.why };
    if (decision.kind === "apply") return { tunings, next: undefined, nothing: "DECIDED_BEFORE" };
    return { tunings, next: proposalOf(decision, record.config), nothing: undefined };
  }

  /** The id of a proposal that waits for an operator. */
  async waiting(namespace: string): Promise<string | undefined> {
    const { catalog, unreadable } = this.#context;
    const { id } = await readReadyNamespace(catalog, namespace);
    const tunings = await readTunings(catalog, id, unreadable);
    return tunings.find(({ state }) => state === "PROPOSED")?.id;
  }

  /**
   * Rejects with TUNING_NOT_FOUND, or with CONFLICT if it is not PROPOSED any more, or if time is
   * in doubt and it would take effect (rule C26).
   */
  async decide(namespace: string, { id, accept, by, reason }: TuningChoice): Promise<Tuning> {
    const context = this.#context;
    const { catalog } = context;
    const { id: namespaceId } = await readReadyNamespace(catalog, namespace);
    const stored = await readTuning(catalog, namespaceId, id);
    if (stored === undefined) throw notFound(namespace, id);
    // Read after the tuning, as `settleTuning` wants it.
    const record = await readReadyNamespace(catalog, namespace);
    if (record.id !== namespaceId) throw notFound(namespace, id);
    const tuning = await settleTuning(context, record, stored, TUNER);
    if (tuning.state !== "PROPOSED") throw notProposed(tuning);
    if (accept && context.time.inDoubt) throw inDoubt(id);
    const why = reason === "" ? (accept ? "accepted" : "refused") : reason;
    const moved = accept
      ? await this.#apply(record, tuning, by, why)
      : await moveTuning(context, record, tuning, { by, to: "REFUSED", why });
    if (moved === undefined) throw changedMeanwhile(id);
    return moved;
  }

  async #apply(
    namespace: { readonly name: string; readonly id: string },
    tuning: TuningRecord,
    by: string,
    why: string,
  ): Promise<TuningRecord | undefined> {
    try {
      return await applyTuning(this.#context, namespace, tuning, by, why);
    } catch (error) {
      if (isConflict(error)) throw changedMeanwhile(tuning.id);
      throw error;
    }
  }
}

function notFound(namespace: string, id: string): ServiceError {
  return new ServiceError(
    "TUNING_NOT_FOUND",
    `there is no tuning ${JSON.stringify(id.slice(0, 80))} in namespace "${namespace}"; ListTunings shows what there is`,
    { details: { namespace } },
  );
}

function notProposed({ id, state }: Tuning): ServiceError {
  return new ServiceError(
    "CONFLICT",
    `tuning ${id} is ${state}; only a PROPOSED one can be accepted or refused`,
  );
}

function inDoubt(id: string): ServiceError {
  return new ServiceError(
    "CONFLICT",
    `tuning ${id} cannot take effect while the server's clock is in doubt; run braid clock confirm, then accept it`,
    { retryAfterMs: 60_000 },
  );
}

function changedMeanwhile(id: string): ServiceError {
  return new ServiceError(
    "CONFLICT",
    `tuning ${id} or the namespace's configuration was changed meanwhile; list the tunings again`,
    { retryAfterMs: 1_000 },
  );
}
