/** Whether a Cassandra node answers queries, and reaches as many nodes as it should. */
import { Client, policies, types } from "cassandra-driver";

const { consistencies } = types;
/**
 * Cassandra keeps this table three times over, so a query can ask for as many nodes, up to three.
 */
const QUERY = "SELECT * FROM system_distributed.view_build_status LIMIT 1";
const REACHES = [consistencies.one, consistencies.two, consistencies.three];

/** A node that is just up may not know that the others are: it would refuse a quorum. */
export async function answersCql(host: string, port: number, nodes: number): Promise<boolean> {
  const one = `${host}:${port}`;
  const { AllowListPolicy, RoundRobinPolicy } = policies.loadBalancing;
  const client = new Client({
    contactPoints: [one],
    localDataCenter: "datacenter1",
    // The driver would continue with the other nodes by itself.
    policies: { loadBalancing: new AllowListPolicy(new RoundRobinPolicy(), [one]) },
    socketOptions: { connectTimeout: 2_000, readTimeout: 5_000 },
    isMetadataSyncEnabled: false,
    monitorReporting: { enabled: false },
  });
  try {
    const consistency = REACHES[Math.min(nodes, REACHES.length) - 1] ?? consistencies.one;
    await client.execute(QUERY, [], { consistency });
    return true;
  } catch {
    return false; // Not yet; the caller shows the log in the end.
  } finally {
    await client.shutdown();
  }
}
