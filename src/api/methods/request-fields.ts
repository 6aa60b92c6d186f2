/** Fields that many requests have, and the checks of them. */
import type { Problems } from "../../lib/problems.ts";
import { pageSizeProblem } from "../../namespaces/control-pages.ts";
import type { ControlPage } from "../../namespaces/control-pages.ts";

/** The namespace that a request names. Adds the problem if it names none. */
export function namespaceIn(
  { namespace }: { readonly namespace: string },
  problems: Problems,
): string {
  if (namespace === "") problems.add("namespace is missing", "namespace");
  return namespace;
}

/** The page of a list that a request asks for. Adds the problem of its size. */
export function pageIn(
  { pageSize, pageToken }: { readonly pageSize: number; readonly pageToken: string },
  problems: Problems,
): ControlPage {
  const problem = pageSizeProblem({ pageSize });
  if (problem !== undefined) problems.add(problem, "pageSize");
  return { pageSize, pageToken };
}
