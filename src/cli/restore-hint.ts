/** Says how to restore a deleted namespace to a person who asked for it by its name. */
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { relative } from "./relative-time.ts";
import type { Terminal } from "./terminal.ts";

/** There are rarely more, and nobody waits for a hint. */
const LOOKED_AT_MAX = 1_000;

/** Undefined if no namespace of this name can be restored, or the server does not answer. */
export async function restoreHint(
  name: string,
  options: GlobalOptions,
  terminal: Terminal,
): Promise<string | undefined> {
  const { interrupted: signal, clock } = terminal;
  const client = clientFor(options, terminal, { attemptsMax: 1 });
  let last: { readonly id: string; readonly deleteTime: string } | undefined;
  let [looked, found] = [0, 0];
  try {
    for await (const deleted of client.listDeletedNamespaces({ signal })) {
      if (++looked > LOOKED_AT_MAX) break;
      if (deleted.namespace !== name || deleted.purged) continue;
      found++;
      if (last === undefined || deleted.deleteTime > last.deleteTime) last = deleted;
    }
  } catch {
    // The command has failed already; the hint is a courtesy.
    return undefined;
  }
  if (last === undefined) return undefined;
  const which = found === 1 ? name : last.id;
  const when = relative(last.deleteTime, clock.nowMicros());
  return `it was deleted ${when}; restore it: braid ns undelete ${which}`;
}
