/** Watches splits on their way to being confirmed, and a read mode on its way to SERVE. */
import { setTimeout as pause } from "node:timers/promises";
import { nextRandom } from "../../bench/support/events.ts";
import { pageRequest } from "../../bench/support/read-load.ts";
import { copiedBytes, isConfirmed, partsOf } from "../../bench/support/split-control.ts";
import type { ModeAnswer, SplitAnswer, SplitControl } from "../../bench/support/split-control.ts";
import type { Place } from "../../bench/support/wide-space.ts";
import { line, megabytes, Untold } from "./tell.ts";
import type { Width } from "./widths.ts";
import type { DemoSetup } from "./setup.ts";

const SPLIT_MS_MAX = 180_000;
const MODE_MS_MAX = 120_000;
const POLL_MS = 50;
/** Between two lines on the copy of one split. */
const PROGRESS_BYTES = 12e6;
const PAGES_BETWEEN_LOOKS = 20;
const INDENT = 25;
const LINE_LENGTH = 90;

/** Prints progress until all splits are confirmed; times count from `startedAt`, in wall-clock ms. */
export async function watchSplits(
  control: SplitControl,
  locations: readonly Place[],
  startedAt: number,
): Promise<void> {
  const end = performance.now() + SPLIT_MS_MAX;
  const printed = new Set<string>();
  const watches = locations.map((location) => new Watch(location, startedAt, printed));
  while (watches.some((watch) => !watch.done)) {
    for (const watch of watches) await watch.look(control);
    if (performance.now() > end) {
      const open = watches.filter((watch) => !watch.done).map((watch) => watch.seen);
      throw new Untold(`not split after ${SPLIT_MS_MAX / 1000} s: ${open.join("; ")}`);
    }
    await pause(POLL_MS);
  }
}

/** Prints each change of one split once. */
class Watch {
  readonly #location: Place;
  readonly #startedAt: number;
  readonly #printed: Set<string>;
  #moves = 0;
  #bytesPrinted = 0;
  done = false;
  seen: string;

  constructor(location: Place, startedAt: number, printed: Set<string>) {
    this.#location = location;
    this.#printed = printed;
    this.#startedAt = startedAt;
    this.seen = `no read of ${location.timeSeriesId} was detected`;
  }

  async look(control: SplitControl): Promise<void> {
    if (this.done) return;
    const split = await control.get(this.#location);
    if (split === undefined) return;
    this.seen = `${this.#location.timeSeriesId} is ${split.state}: ${split.reason}`;
    this.#tellMoves(split);
    this.#tellProgress(split);
    if (split.state === "REFUSED" || split.state === "FAILED") throw new Untold(this.seen);
    this.done = isConfirmed(split);
  }

  #tellMoves({ history }: SplitAnswer): void {
    for (const { at, to, reason } of history.slice(this.#moves)) {
      const [first = "", ...rest] = wrap(`${to}${reason === "" ? "" : `: ${this.#news(reason)}`}`);
      this.#tell(Date.parse(at), first);
      for (const more of rest) line(`${" ".repeat(INDENT)}${more}`);
    }
    // A long history leaves out its middle; then the news is at its end.
    this.#moves = history.length;
  }

  /** Shortens a reason that the demo has printed word for word for an earlier split. */
  #news(reason: string): string {
    const at = reason.indexOf("; ") + 1;
    const rest = reason.slice(at);
    if (at > 0 && this.#printed.has(rest)) return `${reason.slice(0, at)} the rest as above`;
    this.#printed.add(rest);
    return reason;
  }

  #tellProgress(split: SplitAnswer): void {
    const bytes = copiedBytes(split);
    const copying = split.state === "SPLITTING" && bytes >= this.#bytesPrinted + PROGRESS_BYTES;
    if (!copying) return;
    this.#bytesPrinted = bytes;
    this.#tell(Date.now(), `copied ${megabytes(bytes)} into ${partsOf(split)} parts so far`);
  }

  #tell(at: number, text: string): void {
    const since = Math.max(0, (at - this.#startedAt) / 1000).toFixed(1);
    line(`  +${since.padStart(4)} s  ${this.#location.timeSeriesId.padEnd(12)}  ${text}`);
  }
}

/** Lines of a readable length. */
function wrap(text: string): string[] {
  const lines: string[] = [];
  let current = "";
  for (const word of text.split(" ")) {
    if (current.length + word.length >= LINE_LENGTH) {
      lines.push(current);
      current = "";
    }
    current += current === "" ? word : ` ${word}`;
  }
  return [...lines, current];
}

/** Reads the wide ids until their namespace serves splits. */
export async function advanceModes(
  { grpc }: DemoSetup,
  control: SplitControl,
  wide: readonly Width[],
): Promise<void> {
  const end = performance.now() + MODE_MS_MAX;
  let before = await control.mode();
  line(`  ${before.mode} to begin with: originals are served, and a sample is compared`);
  let pages = 0;
  while (before.mode !== "SERVE") {
    for (let n = 0; n < PAGES_BETWEEN_LOOKS; n++) {
      const { side } = wide[n % wide.length] as Width;
      await grpc.call(
        "TimeSeriesService/ReadEventRecords",
        pageRequest(side, nextRandom(), "NEWEST_FIRST"),
      );
    }
    pages += PAGES_BETWEEN_LOOKS;
    const now = await control.mode();
    if (now.mode !== before.mode) {
      line(`  ${before.mode} -> ${now.mode} after ${pages} more pages: ${evidenceOf(before)}`);
      pages = 0;
    }
    if (performance.now() > end) {
      throw new Untold(`still ${now.mode} after ${MODE_MS_MAX / 1000} s: ${now.blockedBy}`);
    }
    before = now;
  }
}

function evidenceOf({ evidence }: ModeAnswer): string {
  if (evidence.length === 0) return "nothing was compared at the last look before";
  return evidence
    .map(
      ({ layout, readsCompared, bytesMatched, bytesDiffered }) =>
        `at the last look before, ${readsCompared} reads of ${layout} parts compared, ` +
        `${megabytes(bytesMatched)} equal, ${bytesDiffered} bytes different`,
    )
    .join("; ");
}
