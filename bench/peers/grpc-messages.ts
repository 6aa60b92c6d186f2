/** Joins the bytes of a gRPC answer to messages: one byte of flags, four of length, the message. */

const HEAD_BYTES = 5;

export class GrpcMessages {
  readonly #onMessage: (message: Buffer) => void;
  #chunks: Buffer[] = [];
  #length = 0;
  /** Of the next message with its head, once that head has arrived. */
  #wanted = HEAD_BYTES;

  constructor(onMessage: (message: Buffer) => void) {
    this.#onMessage = onMessage;
  }

  add(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#length += bytes.length;
    while (this.#length >= this.#wanted) {
      const all = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
      if (all === undefined) return;
      this.#chunks = [all];
      this.#wanted = HEAD_BYTES + all.readUInt32BE(1);
      if (all.length < this.#wanted) return;
      this.#onMessage(all.subarray(HEAD_BYTES, this.#wanted));
      const rest = all.subarray(this.#wanted);
      this.#chunks = rest.length > 0 ? [rest] : [];
      this.#length = rest.length;
      this.#wanted = HEAD_BYTES;
    }
  }
}
