/** Copies of dropped tables that an engine keeps on its own. */
export interface DroppedSnapshots {
  /** The engine's words for when it makes them and until when it keeps them. */
  readonly kept: string;
  /** The command with which an operator removes those of one namespace. */
  readonly clearCommand: string;
}
