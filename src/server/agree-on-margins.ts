/**
 * Keeps a process from running beside others with other margins: it could acknowledge an event into
 * time that they hold for sealed, and reads of splits would lack it.
 *
 * The first process of an installation stores its margins. A later one with others starts only when
 * no other process runs: for a while none announces itself and none starts. So an operator changes
 * them by stopping all processes first.
 */
import { ServiceError } from "../lib/errors.ts";
import type { Clock } from "../lib/clock.ts";
import { formatDurationMs } from "../lib/units.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import type { Catalog } from "../ports/catalog.ts";
import { readProcesses } from "../records/process-records.ts";
import {
  readSharedMargins,
  SHARED_MARGINS,
  sharedMarginsOf,
  writeSharedMargins,
} from "../records/shared-margins.ts";
import type { SharedMargins } from "../records/shared-margins.ts";
import { SILENT_MS } from "./process-announcer.ts";

/** An attempt fails only because another process has started meanwhile. */
const ATTEMPTS_MAX = 1_000;

/** Before the process acts on anything. Rejects with CONFIG_INVALID if it must not run. */
export async function agreeOnMargins(
  { catalog, clock }: { readonly catalog: Catalog; readonly clock: Clock },
  margins: TimeMargins,
  /** Called before it waits to see whether other processes run. */
  onWait: (difference: string) => void,
): Promise<void> {
  if (!catalog.shared) return;
  const own = sharedMarginsOf(margins);
  let found = await readSharedMargins(catalog);
  for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
    const difference = found === undefined ? "" : differenceOf(own, found.margins);
    if (difference !== "") {
      const before = await announcements(catalog);
      onWait(difference);
      await clock.sleep(SILENT_MS);
      const running = (await announcements(catalog)).filter((each) => !before.includes(each));
      const now = await readSharedMargins(catalog);
      const changed = now?.version !== found?.version;
      if (changed && now !== undefined && differenceOf(own, now.margins) === "") {
        found = now;
        continue;
      }
      if (changed || running.length > 0) throw refusal(difference, running);
    }
    const starts = difference === "" ? (found?.starts ?? 0) + 1 : 1;
    const stored = { ...found, margins: own, starts, version: found?.version ?? 0 };
    if (await writeSharedMargins(catalog, stored)) return;
    // Another process was faster: perhaps with other margins.
    found = await readSharedMargins(catalog);
  }
  throw new ServiceError("CONFLICT", "too many processes start at the same time; start again");
}

/** Of each process with the number of its last announcement. */
async function announcements(catalog: Catalog): Promise<string[]> {
  return (await readProcesses(catalog)).map(({ key, version }) => `${key} ${version}`);
}

function differenceOf(own: SharedMargins, theirs: SharedMargins): string {
  return SHARED_MARGINS.filter((name) => own[name] !== theirs[name])
    .map((name) => {
      return `${name} is ${formatDurationMs(own[name])} here and ${formatDurationMs(theirs[name])} there`;
    })
    .join(", ");
}

function refusal(difference: string, running: readonly string[]): ServiceError {
  const names = running.map((each) => each.slice(0, each.lastIndexOf(" ")));
  return new ServiceError(
    "CONFIG_INVALID",
    `other processes run on this catalog with other settings: ${difference}. Set the same here, or stop ` +
      `all processes before one starts with new ones; running: ${names.join(", ") || "one that has just started"}`,
  );
}
