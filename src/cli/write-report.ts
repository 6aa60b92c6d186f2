/**
 * Reports the lines that were not written: the first ones of the file one by one, the rest counted
 * by code.
 *
 * A file whose events are all too old has as many failures as lines, and nobody reads that many.
 * Answers come in any order, so the lines are shown at the end.
 */
import type { BraidError, JsonEvent, WriteFailure } from "../../client/connect.ts";
import { explainFailure } from "./failures.ts";
import { count, printable } from "./print.ts";
import type { Progress } from "./progress.ts";
import { noteError } from "./style.ts";
import type { Terminal } from "./terminal.ts";

export interface Line extends JsonEvent {
  readonly line: number;
}

const LINES_SHOWN = 10;

export class WriteReport {
  readonly #namespace: string;
  readonly #terminal: Terminal;
  readonly #progress: Progress;
  readonly #stop: AbortController;
  readonly #byCode = new Map<string, LineRange>();
  readonly #unconfirmed = new LineRange();
  /** The failed lines with the smallest numbers, in order: at most LINES_SHOWN. */
  readonly #first: { readonly line: number; readonly problem: string }[] = [];
  #failed = 0;
  /** Why sending more lines is pointless. */
  fatal: BraidError | undefined;

  /** `stop` aborts when no further line can be written. */
  constructor(namespace: string, terminal: Terminal, progress: Progress, stop: AbortController) {
    this.#namespace = namespace;
    this.#terminal = terminal;
    this.#progress = progress;
    this.#stop = stop;
  }

  /** Lines that were not written. */
  get failed(): number {
    return this.#failed;
  }

  /** Lines that may or may not be written. */
  get unconfirmed(): number {
    return this.#unconfirmed.count;
  }

  get failuresByCode(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#byCode].map(([code, { count }]) => [code, count]));
  }

  /** A line that was not sent. */
  refusedLine(line: number, problem: string): void {
    this.#count(line, "LINE_INVALID", problem);
  }

  failedEvent({ event: { line }, error, scope }: WriteFailure<Line>): void {
    if (scope === "request" && error.code !== "CANCELLED") this.#give(error);
    if (error.outcome === "unknown") {
      this.#unconfirmed.add(line);
      return;
    }
    // The line was sent alone when it was identified as the wrong one.
    const message = error.message.replaceAll(/\bevents\[0\]\.?/g, "").trim();
    this.#count(line, error.code, `${error.code}: ${message}`);
  }

  /** Call this last. `read` is the number of lines read. */
  conclude(read: number): void {
    const { signal } = this.#stop;
    for (const { line, problem } of this.#first) {
      this.#note(`line ${line}: ${printable(problem)}\n`);
    }
    if (this.#failed > LINES_SHOWN) this.#note(this.#summary());
    const interrupted = this.#terminal.interrupted.aborted;
    if (!interrupted && !signal.aborted && this.#unconfirmed.count === 0) return;
    const open = this.#unconfirmed;
    const which =
      open.count === 0
        ? `all up to line ${count(read)} were answered`
        : `${open.text()} ${open.count === 1 ? "is" : "are"} unconfirmed, written or not`;
    const rest = interrupted || signal.aborted ? "; later lines were not sent" : "";
    const why = interrupted ? "interrupted: " : "";
    noteError(
      this.#terminal,
      `braid: ${why}${which}${rest}. Run the same command again: repeating is safe\n`,
    );
  }

  /** Reports once what is wrong with every request. */
  #give(error: BraidError): void {
    if (this.fatal !== undefined) return;
    this.fatal = error;
    this.#progress.clear();
    noteError(this.#terminal, explainFailure(error, this.#namespace));
    this.#stop.abort(error);
  }

  #count(line: number, code: string, problem: string): void {
    this.#failed += 1;
    let lines = this.#byCode.get(code);
    if (lines === undefined) this.#byCode.set(code, (lines = new LineRange()));
    lines.add(line);
    const at = this.#first.findIndex((shown) => shown.line > line);
    this.#first.splice(at < 0 ? this.#first.length : at, 0, { line, problem });
    this.#first.splice(LINES_SHOWN);
  }

  #summary(): string {
    const codes = [...this.#byCode].toSorted(([, a], [, b]) => b.count - a.count);
    const rows = codes.map(([code, lines]) => {
      const hint = HINTS[code]?.replaceAll("NAMESPACE", this.#namespace);
      const text = `  ${code}: ${count(lines.count)}, in ${lines.range()}`;
      return hint === undefined ? text : `${text}; ${hint}`;
    });
    const hidden = this.#failed - LINES_SHOWN;
    return `… and ${count(hidden)} more. Not written, by code:\n${rows.join("\n")}\n`;
  }

  #note(text: string): void {
    this.#progress.clear();
    this.#terminal.note(text);
  }
}

const HINTS: Readonly<Record<string, string>> = {
  EVENT_TOO_OLD:
    "for a backfill raise the limit (braid ns update NAMESPACE --accept-limit 30d), and lower it afterwards",
  ID_BLOCKED: "see why: braid block ls NAMESPACE",
};

/** The number of lines, and their range. */
class LineRange {
  count = 0;
  #first = Number.POSITIVE_INFINITY;
  #last = 0;

  add(line: number): void {
    this.count += 1;
    this.#first = Math.min(this.#first, line);
    this.#last = Math.max(this.#last, line);
  }

  /** As the subject of a sentence: `lines 1 to 9`, or `3 of lines 1 to 9`. */
  text(): string {
    return this.#isWhole() ? this.range() : `${count(this.count)} of ${this.range()}`;
  }

  range(): string {
    if (this.count === 1) return `line ${count(this.#first)}`;
    return `lines ${count(this.#first)} to ${count(this.#last)}`;
  }

  #isWhole(): boolean {
    return this.#last - this.#first + 1 === this.count;
  }
}
