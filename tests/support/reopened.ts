/** A namespace after a re-opening that is complete, for tests that need no more of it. */
import { withEpochStart } from "../../src/model/epochs.ts";
import type { Namespace } from "../../src/model/namespace.ts";

/** The next epoch has begun with that floor, and its events are accepted. */
export function reopened<N extends Namespace>(namespace: N, floor = 0): N {
  const epoch = namespace.epoch + 1;
  const epochStarts = withEpochStart(namespace.epochStarts, { epoch, floor });
  return { ...namespace, epoch, epochStarts, floor: Math.min(floor, namespace.floor) };
}
