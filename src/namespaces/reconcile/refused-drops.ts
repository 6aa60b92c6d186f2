/**
 * Reports, once for each namespace until it is over, that a clock in doubt prevents the drop of
 * slices.
 */
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import type { ReconcileRun } from "./reconcile-run.ts";

export class RefusedDrops {
  /** Ids of the namespaces whose refused drops were reported. */
  readonly #reported = new Set<string>();

  note(run: ReconcileRun, { id, name }: NamespaceRecord, count: number): void {
    run.report.refused += count;
    if (count === 0) this.#reported.delete(id);
    else if (!this.#reported.has(id)) {
      this.#reported.add(id);
      run.observe({
        kind: "drops refused",
        namespace: name,
        count,
        message:
          `${count} slices of namespace "${name}" are past their retention by this machine's clock, ` +
          "which is in doubt; none of them is dropped until the clock is believed; if it is right, " +
          'run "braid clock confirm"',
      });
    }
  }

  forgetAllBut(ids: ReadonlySet<string>): void {
    for (const id of this.#reported) if (!ids.has(id)) this.#reported.delete(id);
  }
}
