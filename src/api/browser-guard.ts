/**
 * Keeps web pages from using a browser to reach a server that trusts its own machine.
 *
 * A page of another site can make a browser post to 127.0.0.1, and a name that resolves to 127.0.0.1
 * makes such a page look like one of ours. The first is seen by the Origin header, the second by the
 * Host header: on loopback it can only be a loopback name or an address.
 */
import { isIP } from "node:net";

export interface GuardedHeaders {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
}

/** Why a request is refused; undefined if it is not. */
export function browserProblem(headers: GuardedHeaders, loopbackOnly: boolean): string | undefined {
  const { host, origin } = headers;
  if (loopbackOnly && host !== undefined && !isLocalName(hostname(host))) {
    return `the Host header ${JSON.stringify(host.slice(0, 100))} does not name this machine; use localhost or 127.0.0.1`;
  }
  // Programs send no Origin; browsers always do when they post.
  if (
    origin === undefined ||
    origin === `http://${host ?? ""}` ||
    origin === `https://${host ?? ""}`
  ) {
    return undefined;
  }
  return `pages of ${JSON.stringify(origin.slice(0, 100))} may not use this server`;
}

function hostname(host: string): string {
  return host
    .replace(/:\d+$/, "")
    .replace(/^\[|\]$/g, "")
    .toLowerCase();
}

function isLocalName(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost") || isIP(name) !== 0;
}
