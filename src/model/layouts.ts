/** How the events of a part lie in the split table, and what each layout can do. */

export interface Layout {
  /**
   * Raised with every change of what a part looks like: what was seen of another version proves
   * nothing.
   */
  readonly version: number;
  /**
   * Whether events lie in chained blocks, which prove that nothing is missing in any range of a
   * part. Without them a part is proven by its count, when it was read whole.
   */
  readonly blocks: boolean;
}

/** By the name in records, configuration and evidence: on disk, so names never change. */
export const LAYOUTS = {
  PACKED: { version: 1, blocks: true },
  ROWS: { version: 1, blocks: false },
} as const satisfies Readonly<Record<string, Layout>>;

export type SplitLayout = keyof typeof LAYOUTS;

// The keys of an object literal are its type's keys.
export const SPLIT_LAYOUTS = Object.keys(LAYOUTS) as readonly SplitLayout[];
