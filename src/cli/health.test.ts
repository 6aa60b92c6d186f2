import { deepEqual, equal, match } from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { runBraid } from "../../tests/support/fake-terminal.ts";

test("health succeeds when the process is ready, and asks nothing else of it", async () => {
  const asked: string[] = [];
  await using server = await pages((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.end('{"status":"ready"}');
  });
  const ran = await runBraid(["health"], { url: server.url });
  deepEqual([ran.code, ran.out, ran.err], [0, "ready\n", ""]);
  deepEqual(asked, ["GET /readyz"]);
});

test("health --alive asks whether the process answers at all", async () => {
  await using server = await pages(({ url }, response) => {
    response.end(JSON.stringify({ status: url }));
  });
  equal((await runBraid(["health", "--alive"], { url: server.url })).out, "/healthz\n");
});

test("health fails with the reason when the process is not ready", async () => {
  const why = "no node of Cassandra answers";
  await using server = await pages((_request, response) => {
    response.writeHead(503).end(JSON.stringify({ status: "not ready", why }));
  });
  const ran = await runBraid(["health"], { url: server.url });
  equal(ran.code, 1);
  match(ran.err, /answered 503: no node of Cassandra answers/);
  const json = await runBraid(["health", "--json"], { url: server.url });
  deepEqual(JSON.parse(json.out), { ok: false, httpStatus: 503, status: "not ready", why });
});

test("health fails when nothing answers, or when something else redirects", async () => {
  const nobody = await runBraid(["health"], { url: "http://127.0.0.1:9" });
  equal(nobody.code, 1);
  match(nobody.err, /did not answer/);
  await using server = await pages((_request, response) => {
    response.writeHead(302, { location: "/healthz" }).end();
  });
  equal((await runBraid(["health"], { url: server.url })).code, 1);
});

test("health names an address that cannot be used", async () => {
  const ran = await runBraid(["health"], { url: "localhost:8420" });
  equal(ran.code, 2);
  match(ran.err, /"localhost:8420" is not an address such as http:\/\/127\.0\.0\.1:8420/);
});

async function pages(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
