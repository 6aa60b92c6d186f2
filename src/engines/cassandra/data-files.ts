/**
 * Counts the data files in which the cluster keeps a slice's table: many of them make reads slow,
 * and compaction cures that where a split would not.
 */
import type { SliceRef } from "../../model/partition.ts";
import { agentOf, readDataFiles } from "./jolokia.ts";
import { keyspaceOf, tableOf } from "./keyspaces.ts";
import { askNodes } from "./partition-sizes-nodes.ts";
import type { CassandraSizesOptions } from "./partition-sizes-nodes.ts";

const ALL_NODES_MS_MAX = 5_000;

/** The most that any node has; undefined if none answers in time. Never rejects. */
export async function dataFilesOf(
  { session, prefix, clock, jolokiaPort }: CassandraSizesOptions,
  slice: SliceRef,
): Promise<number | undefined> {
  if (jolokiaPort === 0) return undefined;
  const leaving = new AbortController();
  const cancel = clock.after(ALL_NODES_MS_MAX, () => leaving.abort());
  try {
    const table = {
      keyspace: keyspaceOf(prefix, slice.namespaceId),
      table: tableOf(slice.slice),
    };
    const { values } = await askNodes(session, leaving.signal, (node, signal) =>
      readDataFiles(clock, agentOf(node, jolokiaPort), table, signal),
    );
    return values.length === 0 ? undefined : Math.max(...values);
  } catch {
    // It only adds a note to a decision: the caller continues without it.
    return undefined;
  } finally {
    cancel();
  }
}
