/**
 * The progress of long work, on stderr: a line that is updated on a terminal, and a line now and
 * then elsewhere.
 */
import { count } from "./print.ts";
import type { Terminal } from "./terminal.ts";

export class Progress {
  readonly #terminal: Terminal;
  readonly #shown: boolean;
  readonly #everyMs: number;
  readonly #startedMs: number;
  #lastMs: number;
  #open = false;

  constructor(terminal: Terminal, shown: boolean) {
    this.#terminal = terminal;
    this.#shown = shown;
    this.#everyMs = terminal.noteIsTty ? 100 : 2000;
    this.#startedMs = terminal.clock.monotonicMs();
    this.#lastMs = this.#startedMs;
  }

  /** `text` receives the milliseconds since the work began. */
  update(text: (sinceMs: number) => string): void {
    if (!this.#shown) return;
    const nowMs = this.#terminal.clock.monotonicMs();
    if (nowMs - this.#lastMs < this.#everyMs) return;
    this.#lastMs = nowMs;
    const line = text(nowMs - this.#startedMs);
    this.#terminal.note(this.#terminal.noteIsTty ? `${CLEAR}${line}` : `${line}\n`);
    this.#open = this.#terminal.noteIsTty;
  }

  /** Call this before writing anything else to stderr. */
  clear(): void {
    if (this.#open) this.#terminal.note(CLEAR);
    this.#open = false;
  }
}

/** `45%: ` at the start of a line, or "" if the total is unknown. */
export function percent(done: number, total: number | undefined): string {
  if (total === undefined || total <= 0) return "";
  return `${Math.min(100, Math.floor((100 * done) / total))}%: `;
}

/** `12,300/s`. */
export function perSecond(number: number, sinceMs: number): string {
  return `${count(Math.round((number * 1000) / Math.max(1, sinceMs)))}/s`;
}

/** Moves to the start of the line and clears it. */
const CLEAR = "\r\u001b[K";
