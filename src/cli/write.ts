/**
 * `braid write`: events from a file or a pipe, a line of JSON each.
 *
 * Memory is bounded however long the input is. A line that cannot be taken is told with its number and
 * does not stop the rest; only a server that takes nothing at all does.
 */
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { addAbortSignal } from "node:stream";
import type { Readable } from "node:stream";
import type { Command } from "commander";
import type { BatchingWriter, BraidError, JsonEvent, WriteFailure } from "../../client/connect.ts";
import { readLines } from "../../client/read-lines.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { EXIT, ExitError, exitCodeOf, explainFailure } from "./failures.ts";
import { count, json, millis, printable } from "./print.ts";
import { Progress } from "./progress.ts";
import type { Terminal } from "./terminal.ts";

interface WriteOptions extends GlobalOptions {
  readonly queued?: boolean;
  readonly progress?: boolean;
}

interface Line extends JsonEvent {
  readonly line: number;
}

export function addWrite(program: Command, terminal: Terminal): void {
  program
    .command("write <namespace> <file>")
    .description("write events: NDJSON from a file, or from stdin with -")
    .option("--queued", "acknowledged on receipt, not when durable")
    .option("--progress", "tell on stderr how far it is, also if that is no terminal")
    .addHelpText(
      "after",
      `
Each line is an event as in the API; values are base64:
  {"timeSeriesId":"profile:123","eventTime":"2026-11-15T10:00:00.000001Z","eventId":"e-1",
   "eventItems":[{"eventItemKey":"device","eventItemValue":"aW9z"}]}          (on one line)

Example:
  $ braid write plays events.ndjson
  $ generate-events | braid write plays -`,
    )
    .action(async (namespace: string, file: string, _options: unknown, command: Command) => {
      await write(namespace, file, command.optsWithGlobals<WriteOptions>(), terminal);
    });
}

async function write(
  namespace: string,
  file: string,
  options: WriteOptions,
  terminal: Terminal,
): Promise<void> {
  const client = clientFor(options, terminal, {});
  const { interrupted, clock } = terminal;
  const startedMs = clock.monotonicMs();
  // Asked first: without the namespace every line would be refused, one batch after another.
  await client.getNamespace(namespace, { signal: interrupted });
  const input = await openInput(file, terminal);

  const stop = new AbortController();
  const signal = AbortSignal.any([interrupted, stop.signal]);
  const progress = new Progress(terminal, options.progress ?? terminal.noteIsTty);
  const report = new Report(terminal, progress, stop);
  const writer = client.batchingWriter<Line>(namespace, {
    queued: options.queued === true,
    onFailure: (failure) => report.failed(failure),
    signal,
  });
  try {
    await addLines(addAbortSignal(signal, input), writer, report, () =>
      progress.update(
        () => `${count(writer.written)} events written, ${count(report.refused)} failed`,
      ),
    );
  } catch (error) {
    // Ctrl-C, or no use going on: what is under way is still waited for and told.
    if (!signal.aborted) throw error;
  } finally {
    await writer.close();
    progress.clear();
  }
  const tookMs = Math.round(clock.monotonicMs() - startedMs);
  const summary = { written: writer.written, failed: report.refused };
  const did = options.queued === true ? "queued" : "written";
  await terminal.print(
    options.json === true
      ? json(
          options.queued === true ? { accepted: writer.written, failed: report.refused } : summary,
        )
      : `${count(writer.written)} ${writer.written === 1 ? "event" : "events"} ${did}, ${count(report.refused)} failed, in ${millis(tookMs)}\n`,
  );
  interrupted.throwIfAborted();
  if (report.fatal !== undefined) throw new ExitError(exitCodeOf(report.fatal));
  if (report.refused > 0) throw new ExitError(EXIT.failed);
}

async function addLines(
  input: AsyncIterable<Uint8Array>,
  writer: BatchingWriter<Line>,
  report: Report,
  moved: () => void,
): Promise<void> {
  let line = 0;
  for await (const bytes of readLines(input, LINE_BYTES_MAX)) {
    line += 1;
    const problem = bytes === undefined ? TOO_LONG : problemWith(bytes, line);
    if (problem !== undefined) report.refusedLine(line, problem);
    else if (bytes !== undefined && !isBlank(bytes)) await writer.add({ line, json: bare(bytes) });
    moved();
  }
}

/** Collects what was not written, and says so line by line. */
class Report {
  readonly #terminal: Terminal;
  readonly #progress: Progress;
  readonly #stop: AbortController;
  refused = 0;
  /** Why there was no use in going on. */
  fatal: BraidError | undefined;

  constructor(terminal: Terminal, progress: Progress, stop: AbortController) {
    this.#terminal = terminal;
    this.#progress = progress;
    this.#stop = stop;
  }

  refusedLine(line: number, problem: string): void {
    this.refused += 1;
    this.#progress.clear();
    this.#terminal.note(`line ${line}: ${printable(problem)}\n`);
  }

  failed({ event, error, scope }: WriteFailure<Line>): void {
    if (scope === "request" && this.fatal === undefined && error.code !== "CANCELLED") {
      this.fatal = error;
      this.#progress.clear();
      this.#terminal.note(explainFailure(error));
      this.#stop.abort(error);
    }
    // The line was sent alone when it was found to be the wrong one.
    const message = error.message.replaceAll(/\bevents\[0\]\.?/g, "").trim();
    const problem = error.outcome === "unknown" ? ", may or may not be written" : "";
    this.refusedLine(event.line, `${error.code}${problem}: ${message}`);
  }
}

async function openInput(file: string, terminal: Terminal): Promise<Readable> {
  if (file === "-") return terminal.input;
  const stream = createReadStream(file);
  try {
    await once(stream, "open");
  } catch (error) {
    terminal.note(`braid: cannot read ${file}: ${error instanceof Error ? error.message : ""}\n`);
    throw new ExitError(EXIT.failed);
  }
  return stream;
}

/** An event of 1 MiB takes less than 2 MiB as base64 in JSON; the server tells what is above 1 MiB. */
const LINE_BYTES_MAX = 4 * 1024 * 1024;
const TOO_LONG = "longer than 4 MiB; an event has at most 1 MiB";
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Why a line is not one JSON object, or undefined. Whether it is an event the server decides. */
function problemWith(bytes: Uint8Array, line: number): string | undefined {
  if (isBlank(bytes)) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(decoder.decode(line === 1 ? bare(bytes) : bytes));
  } catch (error) {
    if (error instanceof SyntaxError) return `not JSON: ${error.message}`;
    return "not UTF-8";
  }
  const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
  return isObject ? undefined : "not a JSON object";
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

/** Without the mark that some editors put before the first line. */
function bare(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}
