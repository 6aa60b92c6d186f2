/** `--watch` in a pipe: a line for each change, through a restart of the server, until Ctrl-C. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { connect } from "../../client/connect.ts";
import { startServer } from "../support/started-server.ts";

const BRAID = new URL("../../bin/braid", import.meta.url).pathname;

test("--watch prints each change, outlasts a restart, and ends with 130", async () => {
  await using server = await startServer();
  const client = connect(server.url);
  await client.createNamespace("plays");
  const started = (...flags: string[]) => {
    const args = ["ns", "ls", "--watch", "--url", server.url, ...flags];
    const child = spawn(BRAID, args, { stdio: ["ignore", "pipe", "pipe"] });
    child.stderr.resume();
    return { child, lines: createInterface(child.stdout)[Symbol.asyncIterator]() };
  };
  const json = started("-o", "json");
  const text = started("-o", "text");
  const namesInLine = async (): Promise<string[]> => {
    const { value } = await json.lines.next();
    const state = JSON.parse(String(value)) as { namespaces: { namespace: string }[] };
    return state.namespaces.map(({ namespace }) => namespace);
  };
  const nameInRow = async (): Promise<string> =>
    String((await text.lines.next()).value).split("\t")[0] ?? "";
  deepEqual(await namesInLine(), ["plays"]);
  equal(await nameInRow(), "plays");
  await client.createNamespace("shows");
  deepEqual(await namesInLine(), ["plays", "shows"]);
  equal(await nameInRow(), "shows", "only the new row");
  await server.restart("SIGTERM");
  await client.createNamespace("visits");
  deepEqual(await namesInLine(), ["plays", "shows", "visits"]);
  equal(await nameInRow(), "visits");
  for (const { child } of [json, text]) {
    const ended = once(child, "exit");
    ok(child.kill("SIGINT"));
    deepEqual(await ended, [130, null]);
  }
});
