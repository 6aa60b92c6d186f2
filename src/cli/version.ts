/** `braid --version`: the versions of this program and of the server it would connect to. */
import { BraidError } from "../../client/connect.ts";
import { BUILD_INFO } from "../lib/build-info.ts";
import { line, pairs } from "./blocks.ts";
import { clientFor, urlFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { emit } from "./output.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Short, because people ask for the version on broken machines too: a server that hangs must not
 * delay it.
 */
const SERVER_MS_MAX = 1_000;

export async function printVersion(options: GlobalOptions, terminal: Terminal): Promise<void> {
  const { version, build } = BUILD_INFO;
  const server = await serverVersion(options, terminal);
  const blocks = [line(`braid ${version} (${build})`), pairs([["server", server.text]])];
  const value = { version, build, server: server.value };
  await emit(terminal, options, { value, blocks });
}

async function serverVersion(
  options: GlobalOptions,
  terminal: Terminal,
): Promise<{ text: string; value: object }> {
  const url = urlFor(options, terminal);
  const call = { signal: terminal.interrupted, deadlineMs: SERVER_MS_MAX };
  try {
    const status = await clientFor(options, terminal, { attemptsMax: 1 }).getStatus(call);
    const { version, build } = status;
    return { text: `${version} (${build}) at ${url}`, value: { url, version, build } };
  } catch (error) {
    if (error instanceof BraidError) return { text: `none reached at ${url}`, value: { url } };
    throw error;
  }
}
