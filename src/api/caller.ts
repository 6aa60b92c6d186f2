/** Who calls, as far as the call says. Nobody proves a name yet: what is claimed is recorded as given. */

/** A header of HTTP and a key of gRPC metadata: the operator's name, for histories. */
export const OPERATOR_HEADER = "braid-operator";

export interface Caller {
  /** As claimed; undefined if the call names nobody. Not checked yet: see `operatorOf`. */
  readonly operator: string | undefined;
}

/** A call that names nobody. */
export const UNNAMED: Caller = { operator: undefined };

/** From what an adapter found under `OPERATOR_HEADER`. */
export function callerOf(claimed: unknown): Caller {
  return typeof claimed === "string" ? { operator: claimed } : UNNAMED;
}
