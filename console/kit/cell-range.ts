/** The cells of a heat map. */

export interface Cell {
  readonly column: number;
  /** 0 is at the bottom. */
  readonly row: number;
}

/** Cells from one corner to the other, both included. */
export interface CellRange {
  readonly from: Cell;
  readonly to: Cell;
}
