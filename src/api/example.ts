/** What an example of a method is made of. */

export interface Example {
  readonly request: Readonly<Record<string, unknown>>;
  readonly answer: Readonly<Record<string, unknown>>;
}
