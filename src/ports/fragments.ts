/** How fragmented the events of a slice are, in the terms of the engine that stores them. */
export interface Fragments {
  /** Files on the node that has the most. */
  readonly files: number;
  /** The engine's term for one of them. */
  readonly fileWord: string;
  /** The command with which an operator merges them. */
  readonly compactCommand: string;
}
