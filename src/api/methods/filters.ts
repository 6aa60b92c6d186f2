/** ListFilters: the Bloom filters of the server that answers. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ControlService } from "../../gen/braid/v1/control_service_pb.js";
import type { SliceFilterSchema } from "../../gen/braid/v1/filters_pb.js";
import { namespaceNameOf } from "../../model/namespace.ts";
import { pageAfter, pageSizeOf, pageTokenAfter } from "../../namespaces/control-pages.ts";
import type { FilterFigures } from "../../splits/serve/slice-filters.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { pageIn } from "./request-fields.ts";
import { durationOfMicros, timeOfMicros } from "./times.ts";

export interface FiltersUseCase {
  /** The name of the process that answers. */
  readonly process: string;
  readonly viewMaxAgeMs: number;
  /** Of every slice whose filter is loaded; at most 10,000. */
  figures(): Iterable<FilterFigures>;
}

export function filterMethods(filters: FiltersUseCase): UnaryMethod[] {
  return [
    messageMethod({
      desc: ControlService.method.listFilters,
      changes: false,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems) => ({
        namespace: request.namespace,
        page: pageIn(request, problems),
      }),
      handle: async ({ namespace, page }) => {
        const [pageSize, after] = [pageSizeOf(page), pageAfter(page)];
        const all = keyedFigures(filters, namespace);
        const rest = all.filter(({ key }) => key > after);
        const shown = rest.slice(0, pageSize);
        const last = shown.at(-1);
        return {
          filters: shown.map(({ figures }) => filterMessage(figures)),
          nextPageToken:
            last === undefined || shown.length === rest.length ? "" : pageTokenAfter(last.key),
          process: filters.process,
          total: all.length,
          totalBytes: BigInt(all.reduce((sum, { figures }) => sum + figures.bytes, 0)),
          viewMaxAge: durationOfMillis(filters.viewMaxAgeMs),
        };
      },
    }),
  ];
}

/** In the order of their keys: names and ids of namespaces, and names of slices, are ASCII. */
function keyedFigures(
  filters: FiltersUseCase,
  namespace: string,
): { readonly key: string; readonly figures: FilterFigures }[] {
  const all = [...filters.figures()].filter(
    ({ slice }) => namespace === "" || namespaceNameOf(slice.namespaceId) === namespace,
  );
  return all
    .map((figures) => ({ key: `${figures.slice.namespaceId}/${figures.slice.slice}`, figures }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

function filterMessage(figures: FilterFigures): MessageInitShape<typeof SliceFilterSchema> {
  const { slice, observedRate } = figures;
  return {
    namespace: namespaceNameOf(slice.namespaceId),
    timeSlice: slice.slice,
    entries: BigInt(figures.entries),
    capacity: BigInt(figures.capacity),
    bytes: BigInt(figures.bytes),
    checks: BigInt(figures.checks),
    hits: BigInt(figures.hits),
    falsePositives: BigInt(figures.falsePositives),
    configuredRate: figures.configuredRate,
    expectedRate: figures.expectedRate,
    ...(observedRate !== undefined && { observedRate }),
    age: durationOfMillis(figures.ageMs),
    loadTime: timeOfMicros(figures.loadedAt),
    openTime: timeOfMicros(figures.openedAt),
  };
}

function durationOfMillis(ms: number): ReturnType<typeof durationOfMicros> {
  return durationOfMicros(Math.round(ms * 1000));
}
