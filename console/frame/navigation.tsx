/** The list of pages. On a narrow screen it opens from a button. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ROUTES } from "./routes.ts";
import type { Route, RouteGroup } from "./routes.ts";
import { place } from "./router.ts";

const GROUPS: readonly RouteGroup[] = ["Watch", "Partitions", "Data", "Operate"];

export function Navigation({ current }: { current: Route | undefined }) {
  const open = useSignal(false);
  const { path } = place.value;
  useEffect(() => {
    open.value = false;
  }, [path]);
  return (
    <>
      <div class="brand">
        <a href="/" class="brand-name">
          <Mark />
          Braid
        </a>
        <button
          type="button"
          class="menu-button"
          aria-expanded={open.value}
          aria-controls="navigation"
          onClick={() => (open.value = !open.value)}
        >
          Menu
        </button>
      </div>
      <nav id="navigation" aria-label="Pages" class={open.value ? "is-open" : ""}>
        {GROUPS.map((group) => (
          <Group key={group} group={group} current={current} path={path} />
        ))}
        <h2>Reference</h2>
        <ul>
          <li>
            <a href="/docs">API</a>
          </li>
          <li>
            <a href="/metrics">Metrics</a>
          </li>
        </ul>
      </nav>
    </>
  );
}

function Group({
  group,
  current,
  path,
}: {
  group: RouteGroup;
  current: Route | undefined;
  path: string;
}) {
  const routes = ROUTES.filter((route) => route.group === group && route.label !== undefined);
  if (routes.length === 0) return null;
  return (
    <>
      <h2>{group}</h2>
      <ul>
        {routes.map((route) => (
          <li key={route.path}>
            <a href={route.path} aria-current={currentOf(route, current, path)}>
              {route.label}
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

/** A page below another marks it: /namespaces/plays marks Namespaces. */
function currentOf(
  route: Route,
  current: Route | undefined,
  path: string,
): "page" | "true" | undefined {
  if (route === current) return "page";
  return route.path !== "/" && path.startsWith(`${route.path}/`) ? "true" : undefined;
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M10 6c0 7 12 6 12 10s-12 3-12 10" />
      <path d="M22 6c0 3-2.500 4.700-5 6.200M14.500 14.500C12 16 10 16.500 10 16.500M22 26c0-3-1.500-5-3.500-6.500" />
    </svg>
  );
}
