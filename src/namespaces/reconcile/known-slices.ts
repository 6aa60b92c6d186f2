/** The slices of each namespace, read again only when its record says that they have changed. */
import type { Catalog } from "../../ports/catalog.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { readSlices } from "../../records/slice-records.ts";
import type { SliceRecord } from "../../records/slice-records.ts";

export class KnownSlices {
  readonly #catalog: Catalog;
  readonly #byNamespace = new Map<
    string,
    { readonly change: number; readonly slices: readonly SliceRecord[] }
  >();

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  async of({ id, slicesChange, changing }: NamespaceRecord): Promise<readonly SliceRecord[]> {
    const known = this.#byNamespace.get(id);
    if (known?.change === slicesChange && changing === null) return known.slices;
    const slices = await readSlices(this.#catalog, id);
    this.#byNamespace.set(id, { change: slicesChange, slices });
    return slices;
  }

  forget({ id }: NamespaceRecord): void {
    this.#byNamespace.delete(id);
  }

  forgetAllBut(ids: ReadonlySet<string>): void {
    for (const id of this.#byNamespace.keys()) if (!ids.has(id)) this.#byNamespace.delete(id);
  }
}
