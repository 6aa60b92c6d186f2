/**
 * An abort that follows a parent signal and detaches from it at the end.
 *
 * `AbortSignal.any` holds its signals weakly. Weakly held objects survive every minor garbage
 * collection together with all that their listeners reach; here that is the data of a read.
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

  /**
   * Always call it at the end, also after success: until then the parent holds a reference to this.
   */
  abort(): void {
    this.#parent.removeEventListener("abort", this.#follow);
    this.#controller.abort(LEFT);
  }
}

/** Made once: an abort without a reason creates a DOMException with a stack each time. */
const LEFT = new Error("no longer wanted");
