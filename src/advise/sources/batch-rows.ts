/** Few enough for memory, and enough that a batch costs little. */
export const BATCH_ROWS = 1_000;
