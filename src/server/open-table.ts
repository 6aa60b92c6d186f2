/** Opens any table of the configured cluster, for the advisor: no server runs. */
import type { Clock } from "../lib/clock.ts";
import type { SampledTable } from "../ports/sampled-table.ts";
import type { ServiceConfig } from "./config.ts";

export async function openTable(
  { cassandra }: Pick<ServiceConfig, "cassandra">,
  clock: Clock,
  keyspace: string,
  table: string,
): Promise<SampledTable> {
  const { openAnyTable } = await import("../engines/cassandra/any-table.ts");
  const { contact_points, datacenter, username, password } = cassandra;
  const options = {
    contactPoints: contact_points,
    datacenter,
    username: username === "" ? undefined : username,
    password,
  };
  return openAnyTable(options, clock, keyspace, table);
}
