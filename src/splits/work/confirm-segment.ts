/**
 * Reads the original a second time and compares it with the copy (rule C6). If they agree, the
 * first read saw all of the original, and the original has not changed since. Only then may servers
 * serve the split.
 *
 * The second read differs from the first as far as possible: it reads oldest first, in runs of
 * other sizes. So a store that errs in one order, or at the ends of runs, does not err in the same
 * way twice. The listed digests are for the order newest first. So this step also reads the copy
 * again, oldest first: each part must have the listed number of events and bytes, and the same
 * digest as the original.
 */
import type { PartRecord } from "../../model/split.ts";
import { strategyOf } from "../../model/strategies/strategies.ts";
import type { SpreadStrategy } from "../../model/strategies/strategy.ts";
import { RangeDigest } from "../../parts/range-digest.ts";
import type { Run } from "../../wire/frames.ts";
import { requireSame } from "./compare-parts.ts";
import { spreadRun } from "./copy-spread.ts";
import { Interruption } from "./interruption.ts";
import { originalRuns } from "./original-runs.ts";
import { digestPart, orMismatch } from "./part-digest.ts";
import { framesOf, RunBuilder } from "./run-builder.ts";
import { countRun, segmentOf } from "./split-job.ts";
import type { SplitJob } from "./split-job.ts";

const SECOND_READ = "a second read of the original";

/** `parts`: the listed parts, in order. Rejects with a mismatch. */
export async function confirmSegment(job: SplitJob, parts: readonly PartRecord[]): Promise<void> {
  const { context, owned, throttle, level } = job;
  const segment = segmentOf(job);
  const { partition } = owned.record;
  const strategy = strategyOf(segment);
  const compare = strategy.ordered
    ? new OrderedParts(job, parts)
    : new SpreadParts(job, strategy, parts);
  const range = { from: segment.from, to: segment.to, pass: "CONFIRM" } as const;
  for await (const run of originalRuns(context, partition, range, level, owned.signal)) {
    await compare.add(run);
    countRun(job, "confirmed", run);
    await throttle.page(owned.signal);
  }
  await compare.end();
}

/** Parts that follow one another in time: each is compared once all its events have been read. */
class OrderedParts {
  readonly #job: SplitJob;
  /** Oldest first. */
  readonly #parts: readonly PartRecord[];
  #at = 0;
  #digest = new RangeDigest();

  /** `parts`: in the order of the list, newest first. */
  constructor(job: SplitJob, parts: readonly PartRecord[]) {
    this.#job = job;
    this.#parts = parts.toReversed();
  }

  async add(run: Run): Promise<void> {
    for (let rest: Run | undefined = run; rest !== undefined;) {
      const part = this.#parts[this.#at];
      if (part === undefined) {
        throw new Interruption(
          "mismatch",
          `${SECOND_READ} has ${rest.count} events or more behind the last part`,
        );
      }
      const { inside, behind } = cutAt(rest, part.to);
      if (inside !== undefined) this.#digest.addRun(inside);
      if (behind !== undefined) await this.#next(part);
      rest = behind;
    }
  }

  async end(): Promise<void> {
    for (let part = this.#parts[this.#at]; part !== undefined; part = this.#parts[this.#at]) {
      await this.#next(part);
    }
  }

  async #next(part: PartRecord): Promise<void> {
    await requireSameAsCopy(this.#job, part, this.#digest);
    this.#digest = new RangeDigest();
    this.#at++;
  }
}

/** Parts that all cover the same time: all are compared once all events have been read. */
class SpreadParts {
  readonly #job: SplitJob;
  readonly #strategy: SpreadStrategy;
  readonly #parts: readonly PartRecord[];
  readonly #digests: readonly RangeDigest[];

  constructor(job: SplitJob, strategy: SpreadStrategy, parts: readonly PartRecord[]) {
    this.#job = job;
    this.#strategy = strategy;
    this.#parts = parts;
    this.#digests = parts.map(() => new RangeDigest());
  }

  async add(run: Run): Promise<void> {
    for (const [nth, builder] of spreadRun(run, this.#strategy, this.#parts.length).entries()) {
      if (builder !== undefined) this.#digests[nth]?.addRun(builder);
    }
  }

  async end(): Promise<void> {
    for (const [nth, part] of this.#parts.entries()) {
      await requireSameAsCopy(this.#job, part, this.#digests[nth] ?? new RangeDigest());
    }
  }
}

/** `found`: the digest of the original, read oldest first. */
async function requireSameAsCopy(
  job: SplitJob,
  part: PartRecord,
  found: RangeDigest,
): Promise<void> {
  // If the number of events or bytes differs, there is no need to read the part.
  if (found.events !== part.events || found.bytes !== part.bytes) {
    requireSame(part, found, SECOND_READ);
  }
  const { owned, throttle } = job;
  const passed = (): Promise<void> => throttle.page(owned.signal);
  const copy = await orMismatch(() => digestPart(job, part, "OLDEST_FIRST", passed));
  const listed = { ...part, digest: copy.digest() };
  requireSame(listed, copy, "the copy, read oldest first,");
  requireSame(listed, found, SECOND_READ);
}

/**
 * Splits a run into the events before a time and those at or after it. Decodes only a run that has
 * both.
 */
function cutAt(
  run: Run,
  time: number,
): { readonly inside: Run | undefined; readonly behind: Run | undefined } {
  if (run.last.time < time) return { inside: run, behind: undefined };
  if (run.first.time >= time) return { inside: undefined, behind: run };
  const inside = new RunBuilder();
  const behind = new RunBuilder();
  for (const { chunk, start, event } of framesOf(run)) {
    (event.time < time ? inside : behind).add(chunk, start, event);
  }
  return { inside: inside.take(), behind: behind.take() };
}
