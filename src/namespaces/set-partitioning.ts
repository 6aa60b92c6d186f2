/**
 * Changes the partitioning of future slices, if it is still the expected one; else CONFLICT. A
 * namespace that was made under the same name since is another one.
 */
import type { Namespace } from "../model/namespace.ts";
import type { TimePartition } from "../model/namespace-config.ts";
import type { NamespaceContext } from "./namespace-context.ts";
import { updateConfig } from "./update-config.ts";

export async function setPartitioning(
  context: NamespaceContext,
  { name, id }: Pick<Namespace, "name" | "id">,
  from: TimePartition,
  to: TimePartition,
): Promise<void> {
  const update = { patch: { timePartition: to }, reset: [], expected: { id, timePartition: from } };
  await updateConfig(context, name, update, undefined);
}
