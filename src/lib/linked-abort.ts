/**
 * An abort that follows another one and lets go of it when it is over.
 *
 * `AbortSignal.any` would do, but it holds its signals weakly, and what is held weakly survives every
 * small garbage collection with all that its listeners reach; here that is what a read has fetched.
 */
export class LinkedAbort {
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal;
  readonly #follow = (): void => this.#controller.abort(this.#parent.reason);

  constructor(parent: AbortSignal) {
    this.#parent = parent;
    if (parent.aborted) this.#follow();
    else parent.addEventListener("abort", this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Always call it at the end, also when all went well: until then the parent holds on to this. */
  abort(): void {
    this.#parent.removeEventListener("abort", this.#follow);
    this.#controller.abort(LEFT);
  }
}

/** Made once: an abort without a reason makes a DOMException with a stack each time. */
const LEFT = new Error("no longer wanted");
