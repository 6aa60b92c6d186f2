/**
 * Addresses on this machine. All of 127.0.0.0/8 is ours on Linux, so each cluster takes a network
 * of its own there, and all of them can use the usual ports at once.
 */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createConnection, createServer } from "node:net";

const TRIES_MAX = 100;

/** A network like "127.83.201" on whose first address these ports are free. */
export async function freeNetwork(ports: readonly number[]): Promise<string> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const network = `127.${randomInt(1, 255)}.${randomInt(0, 255)}`;
    const taken = await takenAddresses(ports.map((port) => ({ host: `${network}.1`, port })));
    if (taken.length === 0) return network;
  }
  throw new Error(`no free network found in 127.0.0.0/8 for the ports ${ports.join(", ")}`);
}

/** A port on 127.0.0.1, below those that the system gives to connections. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const port = randomInt(20_000, 32_000);
    if ((await takenAddresses([{ host: "127.0.0.1", port }])).length === 0) return port;
  }
  throw new Error("no free port found on 127.0.0.1");
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The addresses where no further process can listen, each with the reason. */
export async function takenAddresses(addresses: readonly Address[]): Promise<string[]> {
  const reasons = await Promise.all(addresses.map(reasonNotToListen));
  return reasons.filter((reason) => reason !== undefined);
}

/** Whether a process accepts connections there. */
export async function accepts(host: string, port: number): Promise<boolean> {
  const socket = createConnection({ host, port });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false; // No process listens there yet.
  } finally {
    socket.destroy();
  }
}

async function reasonNotToListen({ host, port }: Address): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, "listening");
    server.close();
    await once(server, "close");
    return undefined;
  } catch (error) {
    const inUse = error instanceof Error && error.message.includes("EADDRINUSE");
    return `${host}:${port} (${inUse ? "in use by something else" : String(error)})`;
  }
}
