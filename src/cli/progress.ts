/** How far long work has come, on stderr: one line that changes on a terminal, a line now and then elsewhere. */
import type { Terminal } from "./terminal.ts";

export class Progress {
  readonly #terminal: Terminal;
  readonly #shown: boolean;
  readonly #everyMs: number;
  #lastMs: number;
  #open = false;

  constructor(terminal: Terminal, shown: boolean) {
    this.#terminal = terminal;
    this.#shown = shown;
    this.#everyMs = terminal.noteIsTty ? 100 : 2000;
    this.#lastMs = terminal.clock.monotonicMs();
  }

  update(text: () => string): void {
    if (!this.#shown) return;
    const nowMs = this.#terminal.clock.monotonicMs();
    if (nowMs - this.#lastMs < this.#everyMs) return;
    this.#lastMs = nowMs;
    this.#terminal.note(this.#terminal.noteIsTty ? `${CLEAR}${text()}` : `${text()}\n`);
    this.#open = this.#terminal.noteIsTty;
  }

  /** Before anything else is written to stderr. */
  clear(): void {
    if (this.#open) this.#terminal.note(CLEAR);
    this.#open = false;
  }
}

/** To the start of the line, and empty it. */
const CLEAR = "\r\u001b[K";
