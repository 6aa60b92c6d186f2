/** The frame of every page: navigation, banners, the page itself. */
import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { Problem } from "../kit/problem.tsx";
import { Loading } from "../kit/loading.tsx";
import { Banners } from "./banners.tsx";
import { Controls, ServedBy } from "./controls.tsx";
import { Navigation } from "./navigation.tsx";
import { ROUTES } from "./routes.ts";
import type { PageProps, Route } from "./routes.ts";
import { matchPath, place, startRouter } from "./router.ts";
import { Shortcuts } from "./shortcuts.tsx";

export function App() {
  useEffect(startRouter, []);
  const found = findRoute(place.value.path);
  return (
    <>
      <a class="skip-link" href="#main">
        Skip to the page
      </a>
      <div class="frame">
        <header class="frame-head">
          <Navigation current={found?.route} />
          <Controls />
          <ServedBy />
        </header>
        <div class="frame-body">
          <Banners />
          <main id="main" tabIndex={-1}>
            {found === undefined ? (
              <NoPage />
            ) : (
              <LoadedPage key={found.route.path} route={found.route} params={found.params} />
            )}
          </main>
        </div>
      </div>
      <Shortcuts />
    </>
  );
}

function findRoute(path: string): { route: Route; params: PageProps["params"] } | undefined {
  for (const route of ROUTES) {
    const params = matchPath(route.path, path);
    if (params !== undefined) return { route, params };
  }
  return undefined;
}

function LoadedPage({ route, params }: { route: Route; params: PageProps["params"] }) {
  const page = useSignal<ComponentType<PageProps> | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  useEffect(() => {
    document.title = `${route.title} · Braid`;
    route.load().then(
      (loaded) => (page.value = loaded.Page),
      (reason: unknown) => (error.value = reason),
    );
  }, []);
  if (error.value !== undefined) return <NotLoaded />;
  const Page = page.value;
  return Page === undefined ? <Loading what={route.title} /> : <Page params={params} />;
}

/** A page that was open during an upgrade asks for files that the new server does not have. */
function NotLoaded() {
  return (
    <Problem
      error={new Error("The server has another version of the console now, or is away.")}
      what="This page could not be loaded"
      next="Load the page again."
      retry={() => globalThis.location.reload()}
    />
  );
}

function NoPage() {
  return (
    <section class="page">
      <h1>There is no such page</h1>
      <p>
        Nothing is at <code>{place.value.path}</code>. Start at the <a href="/">overview</a>.
      </p>
    </section>
  );
}
