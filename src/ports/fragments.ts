/** How scattered the events of a slice lie, in the words of the engine that stores them. */
export interface Fragments {
  /** Files on the node that has most. */
  readonly files: number;
  /** What the engine calls one of them. */
  readonly fileWord: string;
  /** What an operator runs to merge them. */
  readonly compactCommand: string;
}
