/**
 * `braid write`: writes events from a file or a pipe, one line of JSON each.
 *
 * Memory is bounded whatever the length of the input. A line that cannot be written is reported
 * with its number and does not stop the rest; only a server that accepts nothing at all does.
 */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { addAbortSignal } from "node:stream";
import type { Command } from "commander";
import type { BatchingWriter } from "../../client/connect.ts";
import { readLines } from "../../client/read-lines.ts";
import { line as lineBlock } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { EXIT, ExitError, exitCodeOf, unreadableFile } from "./failures.ts";
import { eventOf } from "./event-line.ts";
import { emit } from "./output.ts";
import { count, millis } from "./print.ts";
import { percent, perSecond, Progress } from "./progress.ts";
import { noteError } from "./style.ts";
import type { Terminal } from "./terminal.ts";
import { WriteReport } from "./write-report.ts";
import type { Line } from "./write-report.ts";

interface WriteOptions extends GlobalOptions {
  readonly queued?: boolean;
  readonly text?: boolean;
  readonly progress?: boolean;
}

export function addWrite(program: Command, terminal: Terminal): void {
  program
    .command("write <namespace> <file>")
    .description("write events: NDJSON from a file, or from stdin with -")
    .option("--text", "values are text instead of base64")
    .option("--queued", "acknowledge events on receipt instead of when durable")
    .option("--progress", "show progress on stderr even if this is not a terminal")
    .addHelpText(
      "after",
      `
Each line is an event as in the API, with values in base64:
  {"timeSeriesId":"profile:123","eventTime":"2026-11-15T10:00:00.000001Z","eventId":"e-1",
   "eventItems":[{"eventItemKey":"device","eventItemValue":"aW9z"}]}          (on one line)
With --text values are text, and items may be an object:
  {"timeSeriesId":"profile:123","eventTime":"2026-11-15T10:00:00Z","eventId":"e-1","items":{"device":"ios"}}

The first ten lines that cannot be written are shown, the rest counted by code. The same event twice is one:
repeating a write is safe.

Example:
  $ braid write plays events.ndjson
  $ generate-events | braid write plays - --text`,
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
  const size = await sizeOf(file, namespace, terminal);
  // Checked first: without the namespace every line would be refused, batch after batch.
  await client.getNamespace(namespace, { signal: interrupted });
  const input = file === "-" ? terminal.input : createReadStream(file);

  const stop = new AbortController();
  const signal = AbortSignal.any([interrupted, stop.signal]);
  const progress = new Progress(terminal, options.progress ?? terminal.noteIsTty);
  const report = new WriteReport(namespace, terminal, progress, stop);
  const writer = client.batchingWriter<Line>(namespace, {
    queued: options.queued === true,
    onFailure: (failure) => report.failedEvent(failure),
    signal,
  });
  const reading = new LineReading(addAbortSignal(signal, input), options.text === true);
  try {
    await reading.addTo(writer, report, () =>
      progress.update(
        (sinceMs) =>
          `${percent(reading.bytesAnswered(writer, report), size)}${count(writer.written)} events written, ` +
          `${perSecond(writer.written, sinceMs)}, ${count(report.failed)} failed`,
      ),
    );
  } catch (error) {
    // After Ctrl-C, or if the server accepts nothing, requests in flight are still awaited and
    // reported.
    if (!signal.aborted) throw error;
  } finally {
    await writer.close();
    progress.clear();
  }
  report.conclude(reading.lines);
  await conclude(writer.written, report, clock.monotonicMs() - startedMs, options, terminal);
  interrupted.throwIfAborted();
  if (report.fatal !== undefined) throw new ExitError(exitCodeOf(report.fatal));
  if (report.failed + report.unconfirmed > 0) throw new ExitError(EXIT.failed);
}

async function conclude(
  written: number,
  { failed, unconfirmed, failuresByCode }: WriteReport,
  tookMs: number,
  options: WriteOptions,
  terminal: Terminal,
): Promise<void> {
  const did = options.queued === true ? "queued" : "written";
  const open = unconfirmed === 0 ? "" : `, ${count(unconfirmed)} unconfirmed`;
  const text =
    `${count(written)} ${written === 1 ? "event" : "events"} ${did}, ${count(failed)} failed${open}, ` +
    `in ${millis(Math.round(tookMs))}`;
  const taken = options.queued === true ? { accepted: written } : { written };
  const value = { ...taken, failed, unconfirmed, failuresByCode };
  await emit(terminal, options, { value, blocks: [lineBlock(text)] });
}

/** The lines of the input in order, and how far it is read. */
class LineReading {
  readonly #input: AsyncIterable<Uint8Array>;
  readonly #textValues: boolean;
  lines = 0;
  #bytes = 0;

  constructor(input: AsyncIterable<Uint8Array>, textValues: boolean) {
    this.#input = input;
    this.#textValues = textValues;
  }

  async addTo(writer: BatchingWriter<Line>, report: WriteReport, moved: () => void): Promise<void> {
    for await (const bytes of readLines(this.#counted(), LINE_BYTES_MAX)) {
      this.lines += 1;
      const event =
        bytes === undefined ? { problem: TOO_LONG } : eventOf(bytes, this.lines, this.#textValues);
      if (event !== undefined && "problem" in event) report.refusedLine(this.lines, event.problem);
      else if (event !== undefined) await writer.add({ line: this.lines, json: event.json });
      moved();
    }
  }

  /**
   * Estimates progress from answered lines, assuming equal length: much of what was read still
   * waits for its answer.
   */
  bytesAnswered({ written }: BatchingWriter<Line>, { failed, unconfirmed }: WriteReport): number {
    return (this.#bytes * (written + failed + unconfirmed)) / Math.max(1, this.lines);
  }

  async *#counted(): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of this.#input) {
      this.#bytes += chunk.length;
      yield chunk;
    }
  }
}

/** An event of 1 MiB takes less than 2 MiB as base64 in JSON; the server refuses larger events. */
const LINE_BYTES_MAX = 4 * 1024 * 1024;
const TOO_LONG = "longer than 4 MiB; an event has at most 1 MiB";

/** The size of the file; undefined for a pipe. Ends the command if there is nothing to read. */
async function sizeOf(
  file: string,
  namespace: string,
  terminal: Terminal,
): Promise<number | undefined> {
  if (file === "-") return undefined;
  try {
    const found = await stat(file);
    if (!found.isDirectory()) return found.isFile() ? found.size : undefined;
  } catch (error) {
    throw unreadableFile(file, error);
  }
  noteError(
    terminal,
    `braid: ${file} is a directory; give a file with an event on each line, or - for stdin: ` +
      `cat ${file.replace(/\/+$/, "")}/*.ndjson | braid write ${namespace} -\n`,
  );
  throw new ExitError(EXIT.usage);
}
