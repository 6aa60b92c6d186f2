/**
 * What a command may use of its environment. A test passes its own.
 *
 * Data goes to `print`, everything else (errors, progress, hints) to `note`, so that a pipe sees
 * data only.
 */
import type { Readable } from "node:stream";
import type { Clock } from "../lib/clock.ts";

export interface Terminal {
  /** To stdout. Resolves when there is room for more. */
  print(text: string): Promise<void>;
  /** To stderr. */
  note(text: string): void;
  readonly outIsTty: boolean;
  readonly noteIsTty: boolean;
  /** The current width of the screen; undefined if stdout is not a screen. */
  readonly columns: number | undefined;
  readonly input: Readable;
  /** Asks a person and resolves with the answer; undefined without a terminal. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * The user of the command, as `user@host`: recorded with operator requests, unless `--as` gives
   * another name.
   */
  readonly user: string;
  /**
   * Aborts on Ctrl-C. Using it disables the default action of Ctrl-C; `serve`, which handles
   * signals itself, does not use it.
   */
  readonly interrupted: AbortSignal;
  readonly clock: Clock;
}
