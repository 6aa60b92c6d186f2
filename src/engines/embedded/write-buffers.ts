/**
 * Keeps the write buffers of all open stores within one memory budget.
 *
 * LevelDB holds everything written since its last table in memory, up to its write buffer size. A
 * few busy stores fill their buffers, and hundreds of quiet ones together would hold far more. When
 * the sum exceeds the budget, the store with the fullest buffer writes it to a table.
 */
export interface BufferedStore {
  /** Resolves when what was committed before the call is in tables. Never rejects. */
  flush(): Promise<void>;
}

export class WriteBuffers {
  readonly #bytesMax: number;
  /** An upper bound of the bytes in each store's buffer. */
  readonly #bytes = new Map<BufferedStore, number>();
  #total = 0;
  #flushing = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** `bufferBytes`: at this size LevelDB itself writes a table and begins another buffer. */
  committed(store: BufferedStore, bytes: number, bufferBytes: number): void {
    const before = this.#bytes.get(store) ?? 0;
    const sum = before + bytes;
    const buffered = sum > bufferBytes ? Math.min(bytes, bufferBytes) : sum;
    this.#set(store, buffered);
    if (this.#total > this.#bytesMax && !this.#flushing) void this.#flushLargest();
  }

  /** Called when the store is closed or flushed. */
  emptied(store: BufferedStore): void {
    this.#set(store, 0);
  }

  /** One at a time: LevelDB writes tables on one thread, whatever the number of stores. */
  async #flushLargest(): Promise<void> {
    this.#flushing = true;
    try {
      while (this.#total > this.#bytesMax) {
        const largest = this.#largest();
        if (largest === undefined) return;
        this.emptied(largest);
        await largest.flush();
      }
    } finally {
      this.#flushing = false;
    }
  }

  #largest(): BufferedStore | undefined {
    let largest: BufferedStore | undefined;
    let most = 0;
    for (const [store, bytes] of this.#bytes) if (bytes > most) [largest, most] = [store, bytes];
    return largest;
  }

  #set(store: BufferedStore, bytes: number): void {
    this.#total += bytes - (this.#bytes.get(store) ?? 0);
    if (bytes === 0) this.#bytes.delete(store);
    else this.#bytes.set(store, bytes);
  }
}
