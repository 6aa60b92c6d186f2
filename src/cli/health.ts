/**
 * `braid health`: whether one process is ready, by its exit code. For health checks of containers,
 * which have no curl; unlike `braid status` it works for workers too, which answer no methods.
 */
import type { Command } from "commander";
import { within } from "../lib/within.ts";
import { line } from "./blocks.ts";
import { urlFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { EXIT, ExitError, UsageError } from "./failures.ts";
import { emit } from "./output.ts";
import { printable } from "./print.ts";
import { noteError } from "./style.ts";
import type { Terminal } from "./terminal.ts";

/** Health checks of containers allow about 5 s in all, and the program needs some of it to start. */
const ANSWER_MS_MAX = 3_000;

interface HealthFlags extends GlobalOptions {
  readonly alive?: boolean;
}

export function addHealth(program: Command, terminal: Terminal): void {
  program
    .command("health")
    .description("ask one server or worker whether it is ready; for health checks")
    .option("--alive", "only whether the process answers, ready or not")
    .addHelpText(
      "after",
      "\nIt asks /readyz (or /healthz), and exits 1 if the answer is not 200 or takes 3s.\n\nExample:" +
        "\n  $ braid health\n  $ braid health --alive --url http://127.0.0.1:8421",
    )
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<HealthFlags>();
      const url = pageUrl(options, terminal);
      const answer = await ask(url, terminal);
      if ("failed" in answer) {
        noteError(terminal, `braid: ${url} did not answer: ${printable(answer.failed)}\n`);
        throw new ExitError(EXIT.failed);
      }
      await emit(terminal, options, { value: answer, blocks: [line(answer.status)] });
      if (!answer.ok) {
        noteError(terminal, `braid: ${url} answered ${answer.httpStatus}: ${answer.why}\n`);
        throw new ExitError(EXIT.failed);
      }
    });
}

function pageUrl(options: HealthFlags, terminal: Terminal): string {
  const base = urlFor(options, terminal);
  if (!URL.canParse(base) || !/^https?:/.test(base)) {
    throw new UsageError(`"${base}" is not an address such as http://127.0.0.1:8420`);
  }
  return new URL(options.alive === true ? "/healthz" : "/readyz", base).href;
}

interface Answer {
  readonly ok: boolean;
  readonly httpStatus: number;
  /** `ok`, `ready`, `not ready`, as the process said it. */
  readonly status: string;
  readonly why: string;
}

async function ask(url: string, terminal: Terminal): Promise<Answer | { failed: string }> {
  const stop = new AbortController();
  try {
    return await within(terminal.clock, ANSWER_MS_MAX, "the answer", get(url, stop.signal));
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    return { failed: cause instanceof Error ? cause.message : String(cause) };
  } finally {
    stop.abort();
  }
}

async function get(url: string, signal: AbortSignal): Promise<Answer> {
  const response = await fetch(url, { signal, redirect: "error" });
  const text = await response.text();
  const field = (name: string): string => {
    try {
      const value: unknown = Reflect.get(Object(JSON.parse(text)), name);
      return typeof value === "string" ? printable(value) : "";
    } catch {
      return ""; // Not a page of Braid: its HTTP status decides.
    }
  };
  const { ok, status } = response;
  return { ok, httpStatus: status, status: field("status") || "unknown", why: field("why") };
}
