/**
 * Where the console is: the path selects a page, the query string holds the state of the page, so
 * every view has an address to share.
 */
import { signal } from "@preact/signals";

interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

/** The place now. A component that reads it renders again when it changes. */
export const place = signal<Place>(read());

function read(): Place {
  const { pathname, search } = globalThis.location;
  return { path: pathname, query: new URLSearchParams(search) };
}

/** Goes to an address of the console. `replace` leaves no entry in the history. */
export function goTo(href: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  const before = place.value.path;
  place.value = read();
  if (place.value.path !== before) scrollTo(0, 0);
}

/** Follows links inside the console without loading the page again. */
export function startRouter(): () => void {
  const changed = (): void => {
    place.value = read();
  };
  const clicked = (event: MouseEvent): void => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || link.target !== "" || link.hasAttribute("download")) return;
    const url = new URL(link.href, globalThis.location.href);
    if (url.origin !== globalThis.location.origin || SERVED_APART.has(url.pathname)) return;
    if (url.hash !== "" && url.pathname === globalThis.location.pathname) return;
    event.preventDefault();
    goTo(url.pathname + url.search);
  };
  addEventListener("popstate", changed);
  document.addEventListener("click", clicked);
  return () => {
    removeEventListener("popstate", changed);
    document.removeEventListener("click", clicked);
  };
}

/** Pages of the server that are not part of the console. */
const SERVED_APART = new Set(["/docs", "/openapi.json", "/metrics", "/healthz", "/readyz"]);

/** A value of the query string, and how to change it. The fallback is not written to the address. */
export function useParam(name: string, fallback = ""): [string, (value: string) => void] {
  const value = place.value.query.get(name) ?? fallback;
  return [value, (next) => setParams({ [name]: next === fallback ? "" : next })];
}

/** Changes values of the query string; "" removes one. Leaves no entry in the history. */
export function setParams(changes: Readonly<Record<string, string>>): void {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") query.delete(name);
    else query.set(name, value);
  }
  goTo(hrefOf(place.value.path, query), { replace: true });
}

/** The address of a path with values: `hrefOf("/explain", { id: "a b" })`. */
export function hrefOf(
  path: string,
  query: URLSearchParams | Readonly<Record<string, string>> = {},
): string {
  const text = new URLSearchParams(query).toString();
  return text === "" ? path : `${path}?${text}`;
}

/** The values of `:name` in a pattern, decoded; undefined if the path does not fit. */
export function matchPath(
  pattern: string,
  path: string,
): Readonly<Record<string, string>> | undefined {
  const wanted = pattern.split("/");
  const given = path.replace(/(?<=.)\/$/, "").split("/");
  if (wanted.length !== given.length) return undefined;
  const values: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const text = given[index] ?? "";
    if (part.startsWith(":")) values[part.slice(1)] = decoded(text);
    else if (part !== text) return undefined;
  }
  return values;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // Typed by hand, with a lone percent sign.
  }
}
