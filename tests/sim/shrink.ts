/** Looks for a smaller world that fails in the same way: fewer faults, less time. */
import { FAULTS } from "./kinds.ts";
import type { Fault } from "./kinds.ts";
import { SimFailure, simulate } from "./world.ts";
import type { WorldFailure } from "./story.ts";

/** Stops at a time of the process's clock, and returns the smallest world found so far. */
export async function shrink(failure: WorldFailure, untilMs: number): Promise<WorldFailure> {
  let smallest = failure;
  const soon = Math.max(10, failure.afterSeconds + 5);
  if (soon < failure.settings.busySeconds) smallest = await smaller(smallest, { seconds: soon });
  for (const fault of FAULTS) {
    if (performance.now() > untilMs) break;
    if (!smallest.settings.faults.has(fault)) continue;
    const without: Fault[] = [...(smallest.options.without ?? []), fault];
    smallest = await smaller(smallest, { without });
  }
  return smallest;
}

async function smaller(
  failure: WorldFailure,
  change: Partial<WorldFailure["options"]>,
): Promise<WorldFailure> {
  try {
    await simulate({ ...failure.options, ...change });
  } catch (error) {
    const same = error instanceof SimFailure && isSame(error.failure, failure);
    if (same) return error.failure;
  }
  return failure;
}

/** The same kind of problem; the event may be another one. */
function isSame(a: WorldFailure, b: WorldFailure): boolean {
  if (a.problem !== undefined || b.problem !== undefined)
    return a.problem?.kind === b.problem?.kind;
  return a.what.slice(0, 5) === b.what.slice(0, 5);
}
