/**
 * Runs long work in short steps, so that other work runs in between (rule C27).
 *
 * The work is a generator that yields where it can pause. Small work runs at once, without a
 * promise.
 */
export function inSteps<T>(work: Generator<void, T>, small: boolean): T | Promise<T> {
  return small ? toEnd(work) : stepByStep(work);
}

function toEnd<T>(work: Generator<void, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

async function stepByStep<T>(work: Generator<void, T>): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await nextTurn();
  }
}

/** Lets others have their turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
