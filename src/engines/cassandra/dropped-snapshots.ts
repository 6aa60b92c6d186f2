/**
 * Whether Cassandra's nodes keep a snapshot of each table that is dropped. By default they do, and
 * keep it until an operator clears it.
 */
import cassandra from "cassandra-driver";
import type { DroppedSnapshots } from "../../ports/snapshots.ts";
import { keyspaceOf } from "./keyspaces.ts";
import { askNodes } from "./partition-sizes-nodes.ts";
import type { CassandraSizesOptions, NodeAnswer, SizesSession } from "./partition-sizes-nodes.ts";
import type { Host } from "./session.ts";

const ALL_NODES_MS_MAX = 5_000;
/** Of the node that answers. */
const SETTING = "SELECT value FROM system_views.settings WHERE name = ?";

interface NodeSettings {
  readonly autoSnapshot: boolean;
  /** Empty: for ever. */
  readonly keptFor: string;
}

/** Undefined if no node keeps them, or none answers in time. Never rejects. */
export async function droppedSnapshotsOf(
  { session, prefix, clock }: Omit<CassandraSizesOptions, "jolokiaPort">,
  namespaceId: string,
): Promise<DroppedSnapshots | undefined> {
  const leaving = new AbortController();
  const cancel = clock.after(ALL_NODES_MS_MAX, () => leaving.abort());
  try {
    const { values } = await askNodes(session, leaving.signal, (node, signal) =>
      askNode(session, node, signal),
    );
    const [keeping] = values.filter(({ autoSnapshot }) => autoSnapshot);
    if (keeping === undefined) return undefined;
    const until = keeping.keptFor === "" ? "until it is cleared" : `for ${keeping.keptFor}`;
    return {
      kept: `Cassandra's auto_snapshot is on: each node keeps a snapshot of a dropped table ${until}`,
      clearCommand: `nodetool clearsnapshot --all -- ${keyspaceOf(prefix, namespaceId)}`,
    };
  } catch {
    // It only adds a note to a report: the caller continues without it.
    return undefined;
  } finally {
    cancel();
  }
}

async function askNode(
  session: SizesSession,
  node: Host,
  signal: AbortSignal,
): Promise<NodeAnswer<NodeSettings>> {
  const settingOf = async (name: string): Promise<string> => {
    const { rows } = await session.execute("sizes", SETTING, [name], {
      host: node,
      consistency: cassandra.types.consistencies.one,
      readTimeout: 2_000,
    });
    const value: unknown = rows[0]?.["value"];
    return typeof value === "string" ? value : "";
  };
  try {
    const autoSnapshot = (await settingOf("auto_snapshot")) === "true";
    const keptFor = await settingOf("auto_snapshot_ttl");
    return { value: { autoSnapshot, keptFor: keptFor === "null" ? "" : keptFor } };
  } catch (error) {
    signal.throwIfAborted();
    return { reason: String(error) };
  }
}
