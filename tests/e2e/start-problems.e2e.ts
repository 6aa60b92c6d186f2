/**
 * Starts that cannot succeed: each ends in one line that says what to do, with exit code 1.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { once } from "node:events";
import { braid } from "../support/started-server.ts";
import type { Ended } from "../support/started-server.ts";

let folder: string;
/** Taken by this test. */
let port: number;
const taken = createServer();

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "braid-start-"));
  await once(taken.listen(0, "127.0.0.1"), "listening");
  ({ port } = taken.address() as AddressInfo);
});

after(async () => {
  taken.close();
  await rm(folder, { recursive: true });
});

function serve(data: string, ...flags: string[]): Promise<Ended> {
  return braid(["serve", "--listen", "127.0.0.1:0", "--data", data, ...flags], "");
}

function assertOneLine({ code, out, err }: Ended, expected: RegExp): void {
  deepEqual([code, out], [1, ""], err);
  equal(err.trimEnd().split("\n").length, 1, err);
  match(err, expected);
}

test("U8: a port in use ends the start in one line with the remedy", async () => {
  const data = join(folder, "port");
  const ended = await serve(data, "--listen", `127.0.0.1:${port}`);
  assertOneLine(
    ended,
    /^braid: port \d+ of 127\.0\.0\.1 is in use; .*--listen 127\.0\.0\.1:PORT$/m,
  );
});

test("U10: a data directory that cannot be made ends the start in one line, and changes nothing", async () => {
  const file = join(folder, "file");
  await writeFile(file, "not a directory");
  const ended = await serve(join(file, "data"));
  assertOneLine(ended, /^braid: the data directory \S+ cannot be used \(ENOTDIR\); .*--data$/m);
  ok((await readdir(folder)).includes("file"));
});

test("G7, G8: Cassandra that is away ends the start with its address and without its password", async () => {
  const config = join(folder, "braid.yaml");
  const login = "username: ada, password: swordfish";
  await writeFile(config, `cassandra: { contact_points: ["127.0.0.1:1"], ${login} }\n`);
  const flags = ["--config", config, "--engine", "cassandra", "--log-level", "debug"];
  const ended = await serve(folder, ...flags);
  equal(ended.code, 1);
  ok(!`${ended.out}${ended.err}`.includes("swordfish"));
  match(ended.err.trimEnd().split("\n").at(-1) ?? "", /^braid: .*127\.0\.0\.1:1\b/);
});
