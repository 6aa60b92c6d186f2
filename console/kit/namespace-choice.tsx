/** Which namespace a page is about: `namespace` in the address, chosen by name. */
import { useEffect } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Namespace } from "../../client/connect.ts";
import { client } from "../api/client.ts";
import { useQuery } from "../api/use-query.ts";
import { goTo, place, setParams } from "../frame/router.ts";
import { Empty } from "./empty.tsx";
import { Loading } from "./loading.tsx";
import { Problem } from "./problem.tsx";
import { Select } from "./choice.tsx";

/** Namespaces that a choice lists. A fleet has more: they are on the page of namespaces. */
export const LISTED_MAX = 1_000;
/** No namespace has this name. */
const ANOTHER = "/namespaces";
const REFRESH_MS = 30_000;

/**
 * Shows `children` for the namespace of the address. Without one it takes the first; without any it
 * says how to create one.
 */
export function WithNamespace({
  title,
  children,
}: {
  /** The heading while there is nothing to show. */
  title: string;
  children: (namespace: string, choice: ComponentChildren) => ComponentChildren;
}) {
  const query = useQuery("namespaces", listedNamespaces, { everyMs: REFRESH_MS });
  const wanted = place.value.query.get("namespace") ?? "";
  const first = query.data?.[0]?.namespace ?? "";
  useEffect(() => {
    if (wanted === "" && first !== "") setParams({ namespace: first });
  }, [wanted, first]);
  if (wanted !== "") return <>{children(wanted, <Choose wanted={wanted} all={query.data} />)}</>;
  if (query.error !== undefined) {
    return (
      <Problem error={query.error} what="Namespaces could not be read" retry={query.refresh} />
    );
  }
  if (query.data === undefined || first !== "") return <Loading what="namespaces" />;
  return (
    <div class="page">
      <h1>{title}</h1>
      <NoNamespace />
    </div>
  );
}

export function NoNamespace() {
  return (
    <Empty title="There is no namespace yet." command="braid ns create plays">
      A namespace keeps events by id and time. Create one here: <a href="/plan">from a workload</a>{" "}
      or <a href="/namespaces/new">from numbers</a>, or with the command below.
    </Empty>
  );
}

function Choose({ wanted, all }: { wanted: string; all: readonly Namespace[] | undefined }) {
  const names = new Set([wanted, ...(all ?? []).map(({ namespace }) => namespace)]);
  return (
    <Select
      label="Namespace"
      value={wanted}
      options={[...names]
        .toSorted()
        .map((name) => [name, name] as const)
        .concat(anotherOf(all))}
      onChange={chooseNamespace}
    />
  );
}

/** An option that leads to the list of all, if a choice has not all of them. */
export function anotherOf(
  listed: readonly Namespace[] | undefined,
): (readonly [value: string, text: string])[] {
  return (listed?.length ?? 0) < LISTED_MAX ? [] : [[ANOTHER, "another…"]];
}

export function chooseNamespace(namespace: string): void {
  if (namespace === ANOTHER) goTo(ANOTHER);
  else setParams({ namespace });
}

/** The first namespaces, by name. */
export async function listedNamespaces(
  signal: AbortSignal,
  max = LISTED_MAX,
): Promise<readonly Namespace[]> {
  const found: Namespace[] = [];
  for await (const namespace of client.listNamespaces({ signal })) {
    found.push(namespace);
    if (found.length >= max) break;
  }
  return found;
}
