/** The name a caller gives itself. Nothing verifies it yet: Braid records the claim as given. */

/** HTTP header and gRPC metadata key with the operator's name, for histories. */
export const OPERATOR_HEADER = "braid-operator";

export interface Caller {
  /** As claimed; undefined if the call has no name. Not validated yet: see `operatorOf`. */
  readonly operator: string | undefined;
}

/** A caller without a name. */
export const UNNAMED: Caller = { operator: undefined };

/** Makes a caller from the value of `OPERATOR_HEADER`. */
export function callerOf(claimed: unknown): Caller {
  return typeof claimed === "string" ? { operator: claimed } : UNNAMED;
}
