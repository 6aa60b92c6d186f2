/**
 * Reads the original a second time and compares it with the copy (rule C6): the first read saw all
 * of the original, and the original has not changed since. Only then may the split be served.
 *
 * The second read differs from the first as far as it can: it goes oldest first, with other sizes
 * of runs, so that a store which errs in one order, or at the ends of runs, does not err the same
 * way twice. The digests that are listed are of the order newest first. So the copy, too, is read
 * again, in this order: each of its parts has the listed number of events and bytes, and the
 * digest that the original has.
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
import { segmentOf } from "./split-job.ts";
import type { SplitJob } from "./split-job.ts";

const SECOND_READ = "a second read of the original";

/** `parts`: the listed ones, in order. Rejects with a mismatch. */
export async function confirmSegment(job: SplitJob, parts: readonly PartRecord[]): Promise<void> {
  const { context, owned, throttle, level } = job;
  const segment = segmentOf(job);
  const { namespace, partition } = owned.record;
  const strategy = strategyOf(segment);
  const compare = strategy.ordered
    ? new OrderedParts(job, parts)
    : new SpreadParts(job, strategy, parts);
  const range = { from: segment.from, to: segment.to, pass: "CONFIRM" } as const;
  for await (const run of originalRuns(context, partition, range, level, owned.signal)) {
    await compare.add(run);
    context.observe({ kind: "bytes", namespace, stage: "confirmed", bytes: run.bytes });
    await throttle.page(owned.signal);
  }
  await compare.end();
}

/** Parts one behind the other: each is compared when all of its events have passed. */
class OrderedParts {
  readonly #job: SplitJob;
  /** The oldest first. */
  readonly #parts: readonly PartRecord[];
  #at = 0;
  #digest = new RangeDigest();

  /** `parts`: as they are listed, the newest first. */
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

/** Parts that all cover the same time: they are compared together, when all events have passed. */
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

/** `found`: of the original, oldest first. */
async function requireSameAsCopy(
  job: SplitJob,
  part: PartRecord,
  found: RangeDigest,
): Promise<void> {
  // A part that differs in number or size need not be read.
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

/** The events before a time, and those at or after it. Only a run with both is looked into. */
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
