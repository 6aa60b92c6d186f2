/**
 * The pages a new user opens first: the examples of /docs work when copied, and the health pages
 * show the version and the state.
 *
 * @needs curl
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

const run = promisify(execFile);

let server: StartedServer;

before(async () => {
  server = await startServer();
});

after(async () => {
  await server[Symbol.asyncDispose]();
});

/** The commands of the page, in order, as a reader copies them. */
async function commands(): Promise<readonly string[]> {
  const page = await (await fetch(`${server.url}/docs`)).text();
  return [...page.matchAll(/<pre>(curl .*?)<\/pre>/gs)].map(([, text = ""]) =>
    text
      .replaceAll("&quot;", '"')
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&amp;", "&")
      .replaceAll("http://127.0.0.1:8420", server.url),
  );
}

test("the first example of /docs creates a namespace, writes a current event and reads it", async () => {
  const [first = ""] = await commands();
  match(first, /CreateNamespace[^]*WriteEventRecordsSync[^]*ReadEventRecords/);
  const { stdout } = await run("sh", [
    "-ec",
    first.replaceAll("curl ", "curl -sS --fail-with-body "),
  ]);
  match(stdout, /"written":1/);
  match(stdout, /"records":\[\{"timeSeriesId":"profile:123"/);
});

test("the examples of writes and reads work when copied", async () => {
  const all = await commands();
  for (const name of ["WriteEventRecordsSync", "WriteEventRecords", "ReadEventRecords"]) {
    const command = all.slice(1).find((text) => text.endsWith(`/${name}`)) ?? "";
    const { stdout } = await run("sh", ["-ec", command.replace("curl ", "curl -sS ")]);
    const answer = JSON.parse(stdout) as Record<string, unknown>;
    ok(answer["code"] === undefined, `${name}: ${stdout}`);
    if ("failures" in answer) deepEqual(answer["failures"], [], name);
  }
});

test("health shows the version, and readiness shows what is switched off", async () => {
  const health = (await (await fetch(`${server.url}/healthz`)).json()) as Record<string, unknown>;
  equal(health["status"], "ok");
  match(String(health["version"]), /^\d+\.\d+\.\d+/);
  /** Without the believed time, which moves. */
  const ready = async (): Promise<object> => {
    const { clock, ...rest } = (await (await fetch(`${server.url}/readyz`)).json()) as {
      clock: { inDoubt: boolean };
    };
    equal(clock.inDoubt, false);
    return rest;
  };
  deepEqual(await ready(), {
    status: "ready",
    killSwitch: { on: false, by: "", reason: "" },
    paused: [],
  });
  const control = (method: string, body: object): Promise<Response> =>
    fetch(`${server.url}/braid.v1.ControlService/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json", "braid-operator": "ana@ops-1" },
      body: JSON.stringify(body),
    });
  await control("CreateNamespace", { namespace: "ads" });
  await control("PauseSplits", { namespace: "ads", reason: "a load test" });
  await control("SetKillSwitch", { on: true, reason: "a difference" });
  deepEqual(await ready(), {
    status: "ready",
    killSwitch: { on: true, by: "ana@ops-1", reason: "a difference" },
    paused: ["ads"],
  });
  const status = (await (await control("GetStatus", {})).json()) as Record<string, unknown>;
  deepEqual(
    [status["version"], status["engine"], status["ready"]],
    [health["version"], "embedded", true],
  );
  equal((status["paused"] as { namespace: string }[])[0]?.namespace, "ads");
});
