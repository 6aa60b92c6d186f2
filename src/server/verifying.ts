/** Comparisons of originals and splits that operators ask for: any process takes up what nobody is at. */
import { Verifier } from "../splits/verify/verifier.ts";
import type { CommonParts } from "./common-parts.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Runtime } from "./runtime.ts";

export function startVerifying(
  { catalog, store }: CommonParts,
  { clock, random, log }: Runtime,
  lifecycle: Lifecycle,
  by: string,
): Verifier {
  const verifier = new Verifier({
    catalog,
    store,
    clock,
    random,
    by,
    onFailed: (error) => log.warn({ err: error }, "a comparison could not be looked at"),
  });
  lifecycle.run("comparing originals and splits", (signal) => verifier.run(signal));
  return verifier;
}
