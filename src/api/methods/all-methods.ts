/** The one table of methods: what gRPC, HTTP, OpenAPI and the docs page all follow. */
import { blockedIdMethods } from "./blocked-ids.ts";
import { histogramMethods } from "./histogram.ts";
import type { SizesUseCase } from "./histogram.ts";
import type { Method } from "./method.ts";
import { namespaceMethods } from "./namespaces.ts";
import type { NamespaceUseCases } from "./namespaces.ts";
import { readMethods } from "./read-events.ts";
import type { Reading } from "./read-events.ts";
import { writeMethods } from "./write-events.ts";
import type { Writing } from "./write-events.ts";

export interface MethodDependencies {
  readonly writing: Writing;
  readonly reading: Reading;
  readonly namespaces: NamespaceUseCases;
  readonly sizes: SizesUseCase;
}

export function allMethods(deps: MethodDependencies): Method[] {
  return [
    ...writeMethods(deps.writing),
    ...readMethods(deps.reading),
    ...namespaceMethods(deps.namespaces),
    ...blockedIdMethods(deps.namespaces),
    ...histogramMethods(deps.sizes),
  ];
}
