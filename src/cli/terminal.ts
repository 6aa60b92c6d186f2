/**
 * What a command may touch of its surroundings. A test passes its own.
 *
 * Data goes to `print`, everything else (errors, progress, hints) to `note`, so that a pipe sees data only.
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
  /** How wide the screen is now; undefined if stdout is not one. */
  readonly columns: number | undefined;
  readonly input: Readable;
  /** Asks a person and resolves with the answer; undefined if nobody is there. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Who runs the command, as `user@host`: recorded with what operators do, unless `--as` names another. */
  readonly user: string;
  /** Aborts on Ctrl-C. Asking for it takes Ctrl-C away from the process: `serve`, which has its own way, does not. */
  readonly interrupted: AbortSignal;
  readonly clock: Clock;
}
