/**
 * Prevents web pages from reaching this server through a browser.
 *
 * A page of another site can make a browser post to an address that the page itself cannot reach:
 * the Origin header shows that. A page's owner can also point a name at that address, so that the
 * page looks like one of ours (DNS rebinding): the Host header shows that. A request must name an
 * address, this machine, or a name that the operator listed.
 */
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { hostname as machineName } from "node:os";

export interface GuardedHeaders {
  readonly host?: string | undefined;
  readonly origin?: string | string[] | undefined;
}

/** Why a request is refused; undefined if it is allowed. */
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

/**
 * Why a request is refused that a page of another origin makes. A GET needs no Origin, but browsers
 * say by themselves where it comes from, at least to this machine and over TLS. A person may follow
 * a link to a page from anywhere; methods are for pages of this server alone.
 */
export function crossSiteProblem(
  headers: IncomingHttpHeaders,
  target: "method" | "page",
): string | undefined {
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return undefined;
  const followsLink =
    headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
  if (target === "page" && followsLink) return undefined;
  return "pages of other origins may not use this server";
}

/** Removes the port, the brackets of an IPv6 address and the final dot of a full name. */
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
