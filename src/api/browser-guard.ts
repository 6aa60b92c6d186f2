/**
 * Keeps web pages from using a browser to reach this server.
 *
 * A page of another site can make a browser post to an address it cannot reach itself, and a name that the page's
 * owner points at that address makes the page look like one of ours (DNS rebinding). The first shows in the Origin
 * header, the second in the Host header: a request names an address, this machine, or a name that the operator listed.
 */
import { isIP } from "node:net";
import { hostname as machineName } from "node:os";

export interface GuardedHeaders {
  readonly host?: string | undefined;
  readonly origin?: string | string[] | undefined;
}

/** Why a request is refused; undefined if it is not. */
export function browserProblem(
  { host, origin }: GuardedHeaders,
  allowedHosts: readonly string[],
): string | undefined {
  if (host !== undefined && !isAllowed(nameOf(host), allowedHosts)) {
    return (
      `the Host header ${JSON.stringify(host.slice(0, 100))} does not name this server; use an address or ` +
      "localhost, or list the name in allowed_hosts"
    );
  }
  // Programs send no Origin; browsers always do when they post.
  if (
    origin === undefined ||
    origin === `http://${host ?? ""}` ||
    origin === `https://${host ?? ""}`
  ) {
    return undefined;
  }
  return `pages of ${JSON.stringify(String(origin).slice(0, 100))} may not use this server`;
}

/** Without the port, the brackets of an IPv6 address and the dot at the end of a full name. */
function nameOf(host: string): string {
  return host
    .replace(/:\d+$/, "")
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
}

function isAllowed(name: string, allowedHosts: readonly string[]): boolean {
  return (
    name === "localhost" ||
    name.endsWith(".localhost") ||
    isIP(name) !== 0 ||
    name === machineName().toLowerCase() ||
    allowedHosts.includes(name)
  );
}
