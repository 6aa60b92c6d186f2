/**
 * Cassandra's own tool for one node, without its scripts: `await nodetool(node, "flush",
 * keyspace)`.
 */
import { dirname, join } from "node:path";
import type { CassandraNode } from "./cassandra-cluster.ts";
import { SERVICES } from "./fetch-artifacts.ts";
import { runTool } from "./run-tool.ts";

/** What it printed. */
export function nodetool(node: CassandraNode, ...args: readonly string[]): Promise<string> {
  const { java, lib } = node.artifacts;
  const command = [
    java,
    "-Xmx64m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    `@${join(SERVICES, "cassandra", "jvm17.args")}`,
    // Java 17 refuses the address that the tool makes of a host and a port.
    "-Dcom.sun.jndi.rmiURLParsing=legacy",
    // It keeps a history of commands; not in the home directory of the user who runs the tests.
    `-Duser.home=${dirname(node.log)}`,
    "-cp",
    `${lib}/*`,
    "org.apache.cassandra.tools.NodeTool",
    "-h",
    "127.0.0.1",
    "-p",
    String(node.jmxPort),
    ...args,
  ];
  return runTool(`nodetool ${args.join(" ")} on ${node.name}`, command);
}
