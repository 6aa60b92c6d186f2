/** The kind of a split: evidence is kept and splits are served by kind (rule C13). */
import type { ReadModeState, SplitKind } from "./read-mode.ts";
import { LAYOUTS, SPLIT_LAYOUTS } from "./layouts.ts";
import { SPLIT_STRATEGIES } from "./strategies/strategies.ts";
import type { SplitLayout } from "./layouts.ts";
import type { SplitStrategyName } from "./strategies/strategies.ts";

interface SegmentKind {
  readonly layout: SplitLayout;
  readonly strategy: SplitStrategyName;
}

export function kindOf({ layout, strategy }: SegmentKind): SplitKind {
  return { layout, layoutVersion: LAYOUTS[layout].version, strategy };
}

/** For maps, lists and people. */
export function kindName({ layout, layoutVersion, strategy }: SplitKind): string {
  return `${layout}/${layoutVersion} ${strategy}`;
}

/** Computed once, because every read needs it. */
const NAMES = Object.fromEntries(
  SPLIT_LAYOUTS.map((layout) => {
    const named = SPLIT_STRATEGIES.map((strategy) => [
      strategy,
      kindName(kindOf({ layout, strategy })),
    ]);
    return [layout, Object.fromEntries(named)];
  }),
) as Readonly<Record<SplitLayout, Readonly<Record<SplitStrategyName, string>>>>;

/** Whether SERVE includes this kind of split. */
export function servesKind({ kinds }: ReadModeState, { layout, strategy }: SegmentKind): boolean {
  return kinds === null || kinds.includes(NAMES[layout][strategy]);
}
