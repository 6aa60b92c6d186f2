/** Passes a TCP port on, each way a moment later: a network between two machines, on one. */
import { connect, createServer } from "node:net";
import type { Server, Socket } from "node:net";

export class DelayRelay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** `host:port`. */
  readonly contactPoint: string;

  private constructor(server: Server, contactPoint: string) {
    this.#server = server;
    this.contactPoint = contactPoint;
  }

  /** `target`: `host:port`. */
  static async start(target: string, delayMs: number): Promise<DelayRelay> {
    const [host = "", port = ""] = target.split(":");
    const server = createServer({ noDelay: true });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    const relay = new DelayRelay(server, `127.0.0.1:${address.port}`);
    server.on("connection", (near) => {
      const far = connect({ host, port: Number(port), noDelay: true });
      relay.#join(near, far, delayMs);
      relay.#join(far, near, delayMs);
    });
    return relay;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** Timers of one length end in the order in which they began. */
  #join(from: Socket, to: Socket, delayMs: number): void {
    this.#sockets.add(from);
    from.on("data", (chunk: Buffer) => setTimeout(() => to.write(chunk), delayMs));
    from.on("error", () => undefined);
    from.on("close", () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
