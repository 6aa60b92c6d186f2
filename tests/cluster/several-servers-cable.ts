/**
 * A proxy to one address that can be cut: then no bytes pass, and neither end is notified.
 *
 * This is how a network failure of one machine looks to it. The cable holds the bytes sent during
 * the cut, can search them, and delivers them when it is mended. It works for a one-node Cassandra,
 * because the driver keeps using the address it was given for that node.
 */
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

export interface Cable {
  /** "host:port", to use instead of the real address. */
  readonly address: string;
  cut(): void;
  mend(): void;
  /** Whether the bytes sent since the cut contain this text. */
  holds(text: string): boolean;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Copies bytes from one socket to another. */
interface Strand {
  readonly to: Socket;
  readonly held: Buffer[];
}

export async function layCable(to: string): Promise<Cable> {
  const [host = "", port] = to.split(":");
  const strands = new Set<Strand>();
  let whole = true;
  const lay = (from: Socket, target: Socket): void => {
    const strand: Strand = { to: target, held: [] };
    strands.add(strand);
    from.on("data", (bytes: Buffer) => {
      if (whole) target.write(bytes);
      else strand.held.push(bytes);
    });
    // The close that follows reports it to the other end.
    from.on("error", () => undefined);
    from.on("close", () => {
      strands.delete(strand);
      target.destroy();
    });
  };
  const server = createServer((near) => {
    const far = connect(Number(port), host);
    lay(near, far);
    lay(far, near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a port has an `AddressInfo`.
  const address = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${address.port}`,
    cut() {
      whole = false;
    },
    mend() {
      whole = true;
      for (const { to: target, held } of strands) {
        for (const bytes of held.splice(0)) target.write(bytes);
      }
    },
    holds: (text) => strands.values().some(({ held }) => Buffer.concat(held).includes(text)),
    async [Symbol.asyncDispose]() {
      for (const { to: target } of strands) target.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
