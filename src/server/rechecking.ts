/**
 * Rechecks of differences, for a process that serves no reads (rule C14): it reads both sides again
 * and changes the split's record or the namespace's read mode, which every server then follows.
 */
import { readParts } from "../records/part-records.ts";
import { ComparisonReaders } from "../splits/compare/comparison-readers.ts";
import { Differences } from "../splits/compare/differences.ts";
import { EvidenceFlusher } from "../splits/compare/evidence-flusher.ts";
import { TrustStates } from "../splits/compare/trust-states.ts";
import { fallBack } from "../splits/promote/read-mode-reconciler.ts";
import type { CommonParts } from "./common-parts.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Runtime } from "./runtime.ts";

export function startRechecking(
  { catalog, store, changed }: Pick<CommonParts, "catalog" | "store" | "changed">,
  { clock, log }: Pick<Runtime, "clock" | "log">,
  lifecycle: Pick<Lifecycle, "run">,
  by: string,
): Differences {
  const trouble = (what: string, error: unknown): void => log.warn({ err: error }, what);
  const evidence = new EvidenceFlusher({ catalog, clock, by, trouble });
  const differences = new Differences({
    catalog,
    clock,
    by,
    readers: new ComparisonReaders(store, clock, (partition, { partRanges }) =>
      readParts(catalog, partition, partRanges),
    ),
    trustStates: new TrustStates(),
    observe: {
      trouble,
      differenceChecked: (namespace, verdict, detail) =>
        log.warn({ namespace, verdict, detail }, "a difference was read again from all replicas"),
    },
    fallBack: async (namespace, reason) => {
      if (!(await fallBack(catalog, clock, namespace, reason, by))) return;
      log.error(
        { namespace: namespace.name, reason },
        "split and original differ: the read mode falls back",
      );
      await changed(namespace.name);
    },
    differed: (comparison) => evidence.differed(comparison),
    // It follows no routes: servers learn of the change from the catalog.
    changed: () => undefined,
  });
  lifecycle.run("rechecking differences", async (signal) => {
    await evidence.run(signal);
    await differences.close();
    await evidence.flush();
  });
  return differences;
}
