/**
 * Every page of the console: one line each. A page is a module with a `Page` component; it is
 * loaded when it is opened. Pages with a `label` are in the navigation, in this order.
 */
import type { ComponentType } from "preact";

export interface PageProps {
  /** The values of `:name` in the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

interface PageModule {
  readonly Page: ComponentType<PageProps>;
}

export interface Route {
  readonly path: string;
  /** In the title of the window. */
  readonly title: string;
  /** In the navigation; a page without one is reached from another page. */
  readonly label?: string;
  readonly group?: RouteGroup;
  /** The letter that opens it after `g`. */
  readonly key?: string;
  readonly load: () => Promise<PageModule>;
}

export type RouteGroup = "Watch" | "Partitions" | "Data" | "Operate";

export const ROUTES: readonly Route[] = [
  {
    path: "/",
    title: "Overview",
    label: "Overview",
    group: "Watch",
    key: "o",
    load: () => import("../pages/overview/overview.tsx"),
  },
  {
    path: "/namespaces",
    title: "Namespaces",
    label: "Namespaces",
    group: "Watch",
    key: "n",
    load: () => import("../pages/namespaces/namespaces.tsx"),
  },
  {
    path: "/namespaces/new",
    title: "Create a namespace",
    load: () => import("../pages/namespaces/create.tsx"),
  },
  {
    path: "/namespaces/:namespace",
    title: "Namespace",
    load: () => import("../pages/namespaces/namespace.tsx"),
  },
  {
    path: "/width-map",
    title: "Width map",
    label: "Width map",
    group: "Partitions",
    key: "w",
    load: () => import("../pages/width-map/width-map.tsx"),
  },
  {
    path: "/histogram",
    title: "Sizes and tuning",
    label: "Sizes and tuning",
    group: "Partitions",
    key: "h",
    load: () => import("../pages/histogram/histogram.tsx"),
  },
  {
    path: "/splits",
    title: "Splits",
    label: "Splits",
    group: "Partitions",
    key: "s",
    load: () => import("../pages/splits/splits.tsx"),
  },
  {
    path: "/splits/:namespace/:splitId",
    title: "Split",
    load: () => import("../pages/splits/split.tsx"),
  },
  {
    path: "/read-modes",
    title: "Read modes",
    label: "Read modes",
    group: "Partitions",
    key: "m",
    load: () => import("../pages/read-modes/read-modes.tsx"),
  },
  {
    path: "/events",
    title: "Events",
    label: "Events",
    group: "Data",
    key: "v",
    load: () => import("../pages/events/events.tsx"),
  },
  {
    path: "/explain",
    title: "Explain a read",
    label: "Explain",
    group: "Data",
    key: "e",
    load: () => import("../pages/explain/explain.tsx"),
  },
  {
    path: "/doctor",
    title: "Doctor",
    label: "Doctor",
    group: "Operate",
    key: "d",
    load: () => import("../pages/doctor/doctor.tsx"),
  },
  {
    path: "/blocked",
    title: "Blocked ids",
    label: "Blocked ids",
    group: "Operate",
    key: "b",
    load: () => import("../pages/blocked/blocked.tsx"),
  },
  {
    path: "/latency",
    title: "Live latency",
    label: "Live latency",
    group: "Operate",
    key: "a",
    load: () => import("../pages/latency/latency.tsx"),
  },
  {
    path: "/plan",
    title: "Plan",
    label: "Plan",
    group: "Operate",
    key: "p",
    load: () => import("../pages/plan/plan.tsx"),
  },
  {
    path: "/filters",
    title: "Bloom filters",
    label: "Bloom filters",
    group: "Operate",
    key: "f",
    load: () => import("../pages/filters/filters.tsx"),
  },
  {
    path: "/queue",
    title: "Queue and dead letters",
    label: "Queue",
    group: "Operate",
    key: "q",
    load: () => import("../pages/queue/queue.tsx"),
  },
  { path: "/kit", title: "Kit", load: () => import("../pages/kit/kit.tsx") },
];
