/** How the events of a part lie in the split table, and what each layout can do. */

export interface Layout {
  /**
   * Raised with every change of the format of a part: evidence for another version proves nothing.
   */
  readonly version: number;
  /**
   * Whether events lie in chained blocks, which prove that no range of a part misses anything.
   * Without blocks, a part is proven by its count after it was read whole.
   */
  readonly blocks: boolean;
}

/** By the name in records, configuration and evidence. Names are stored, so they never change. */
export const LAYOUTS = {
  PACKED: { version: 1, blocks: true },
  ROWS: { version: 1, blocks: false },
} as const satisfies Readonly<Record<string, Layout>>;

export type SplitLayout = keyof typeof LAYOUTS;

// The keys of an object literal are its type's keys.
export const SPLIT_LAYOUTS = Object.keys(LAYOUTS) as readonly SplitLayout[];
