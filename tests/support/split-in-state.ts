/**
 * A split as other processes may have left it, whatever moves led there: many tests begin in the
 * middle.
 */
import type { SplitMove, SplitRecord, SplitState } from "../../src/model/split.ts";

export function inState(
  record: SplitRecord,
  state: SplitState,
  change: Partial<SplitRecord> = {},
  at = 0,
): SplitRecord {
  const why = { by: "worker", cause: "claim", reason: "a test", times: 1 } as const;
  const move: SplitMove = { at, ...why, from: record.state, to: state };
  return { ...record, ...change, state, history: [...record.history, move] };
}
