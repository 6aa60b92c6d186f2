/**
 * Reads the original a second time and compares it with the listed parts (rule C6): what the copying read
 * was the original, and still is. Only then may a caller be served from the split.
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
  const compare = strategy.ordered ? new OrderedParts(parts) : new SpreadParts(strategy, parts);
  for await (const run of originalRuns(context, partition, segment, level, owned.signal)) {
    compare.add(run);
    context.observe({ kind: "bytes", namespace, stage: "confirmed", bytes: run.bytes });
    await throttle.page(owned.signal);
  }
  compare.end();
}

/** Parts one behind the other: each is compared when all of its events have passed. */
class OrderedParts {
  readonly #parts: readonly PartRecord[];
  #at = 0;
  #digest = new RangeDigest();

  constructor(parts: readonly PartRecord[]) {
    this.#parts = parts;
  }

  add(run: Run): void {
    for (let rest: Run | undefined = run; rest !== undefined;) {
      const part = this.#parts[this.#at];
      if (part === undefined) {
        throw new Interruption(
          "mismatch",
          `${SECOND_READ} has ${rest.count} events or more behind the last part`,
        );
      }
      const { inside, behind } = cutAt(rest, part.from);
      if (inside !== undefined) this.#digest.addRun(inside);
      if (behind !== undefined) this.#next(part);
      rest = behind;
    }
  }

  end(): void {
    for (let part = this.#parts[this.#at]; part !== undefined; part = this.#parts[this.#at]) {
      this.#next(part);
    }
  }

  #next(part: PartRecord): void {
    requireSame(part, this.#digest, SECOND_READ);
    this.#digest = new RangeDigest();
    this.#at++;
  }
}

/** Parts that all cover the same time: they are compared together, when all events have passed. */
class SpreadParts {
  readonly #strategy: SpreadStrategy;
  readonly #parts: readonly PartRecord[];
  readonly #digests: readonly RangeDigest[];

  constructor(strategy: SpreadStrategy, parts: readonly PartRecord[]) {
    this.#strategy = strategy;
    this.#parts = parts;
    this.#digests = parts.map(() => new RangeDigest());
  }

  add(run: Run): void {
    for (const [nth, builder] of spreadRun(run, this.#strategy, this.#parts.length).entries()) {
      if (builder !== undefined) this.#digests[nth]?.addRun(builder);
    }
  }

  end(): void {
    for (const [nth, part] of this.#parts.entries()) {
      requireSame(part, this.#digests[nth] ?? new RangeDigest(), SECOND_READ);
    }
  }
}

/** The events at or after a time, and those before it. Only a run with both is looked into. */
function cutAt(
  run: Run,
  time: number,
): { readonly inside: Run | undefined; readonly behind: Run | undefined } {
  if (run.last.time >= time) return { inside: run, behind: undefined };
  if (run.first.time < time) return { inside: undefined, behind: run };
  const inside = new RunBuilder();
  const behind = new RunBuilder();
  for (const { chunk, start, event } of framesOf(run)) {
    (event.time >= time ? inside : behind).add(chunk, start, event);
  }
  return { inside: inside.take(), behind: behind.take() };
}
