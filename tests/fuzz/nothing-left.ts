/** What must be true of a server after an attack. */
import { equal } from "node:assert/strict";
import { metricOf, until } from "../support/conditions.ts";
import type { StartedServer } from "../support/started-server.ts";

/** What a server holds for calls; all of it goes back to zero. */
const HELD = [
  "braid_requests_in_flight",
  "braid_request_bytes_in_flight",
  "braid_read_bytes_in_flight",
  "braid_write_bytes_in_flight",
];

/** The same process lives, answers, holds nothing, and no bug ended a request. */
export async function assertNothingLeft(server: StartedServer, pid: number): Promise<void> {
  equal((await fetch(`${server.url}/healthz`)).status, 200);
  equal(server.pid, pid);
  for (const name of HELD) await until(async () => (await metricOf(server.url, name)) === 0);
  // One or two are those of this check.
  await until(async () => (await metricOf(server.url, "braid_connections")) <= 2);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  const internal = metrics
    .split("\n")
    .filter(
      (line) => /^braid_requests_total\{.*code="INTERNAL"/.test(line) && !line.endsWith(" 0"),
    );
  equal(internal.join("\n"), "");
}
