/**
 * The comparisons of originals and splits that operators start. Any process continues one that no
 * process works on.
 */
import type { VerificationDeps } from "../splits/verify/verification.ts";
import { Verifier } from "../splits/verify/verifier.ts";
import type { CommonParts } from "./common-parts.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Runtime } from "./runtime.ts";

export function startVerifying(
  { catalog, store }: CommonParts,
  { clock, random, log }: Runtime,
  lifecycle: Lifecycle,
  by: string,
  recheck: NonNullable<VerificationDeps["recheck"]>,
): Verifier {
  const verifier = new Verifier({
    catalog,
    store,
    clock,
    random,
    by,
    recheck,
    onFailed: (error) => log.warn({ err: error }, "could not check for comparisons"),
  });
  lifecycle.run("comparisons of originals and splits", (signal) => verifier.run(signal));
  return verifier;
}
