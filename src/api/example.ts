/** An example of a method: its request and its answer. */

export interface Example {
  readonly request: Readonly<Record<string, unknown>>;
  readonly answer: Readonly<Record<string, unknown>>;
}
