/** Changes the partitioning of future slices, if it is still the expected one; else CONFLICT. */
import type { TimePartition } from "../model/namespace-config.ts";
import type { NamespaceContext } from "./namespace-context.ts";
import { updateConfig } from "./update-config.ts";

export async function setPartitioning(
  context: NamespaceContext,
  name: string,
  from: TimePartition,
  to: TimePartition,
): Promise<void> {
  const update = { patch: { timePartition: to }, reset: [], expected: from };
  await updateConfig(context, name, update, undefined);
}
