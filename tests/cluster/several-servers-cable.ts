/**
 * A way to one address that can be cut: then nothing comes through, and nobody is told.
 *
 * That is what a broken network looks like from one machine while all the others are well. What was
 * sent meanwhile is held, can be looked at, and arrives when the cable is mended. It works for a
 * Cassandra of one node, since the driver goes on using the address it was given for that one.
 */
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

export interface Cable {
  /** "host:port", to be used instead of the other. */
  readonly address: string;
  cut(): void;
  mend(): void;
  /** Whether this text is among what was sent since the cut. */
  holds(text: string): boolean;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What goes from one socket to another. */
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
    // The other end hears of it by the close that follows.
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
  // A server that listens on a port has an address of this kind.
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
