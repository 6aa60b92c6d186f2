import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { FilterFigures } from "../../splits/serve/slice-filters.ts";
import { filterMethods } from "./filters.ts";

const FIGURES: Omit<FilterFigures, "slice"> = {
  entries: 2,
  capacity: 51,
  bytes: 64,
  checks: 10,
  hits: 4,
  falsePositives: 0,
  configuredRate: 0.01,
  expectedRate: 0.001,
  observedRate: undefined,
  ageMs: 1_500,
  loadedAt: 2_000_000,
  openedAt: 1_000_000,
};

function figuresOf(namespaceId: string, slice: string): FilterFigures {
  return { ...FIGURES, slice: { namespaceId, slice } };
}

interface Page {
  readonly filters: readonly { namespace: string; timeSlice: string; age: string }[];
  readonly nextPageToken: string;
  readonly total: number;
  readonly totalBytes: string;
}

async function ask(request: object): Promise<Page> {
  const [method] = filterMethods({
    process: "server-1",
    viewMaxAgeMs: 10_000,
    figures: () => [
      figuresOf("plays-1", "data_2"),
      figuresOf("visits-1", "data_1"),
      figuresOf("plays-1", "data_1"),
    ],
  });
  const asked = await method?.fromJson(Buffer.from(JSON.stringify(request)));
  const answer = await asked?.run(new AbortController().signal);
  return JSON.parse(String(await answer?.json())) as Page;
}

test("filters come by namespace and slice, page by page, with the totals of all", async () => {
  const first = await ask({ pageSize: 2 });
  const second = await ask({ pageSize: 2, pageToken: first.nextPageToken });
  deepEqual(
    [first, second].map(({ filters }) =>
      filters.map(({ namespace, timeSlice }) => `${namespace} ${timeSlice}`),
    ),
    [["plays data_1", "plays data_2"], ["visits data_1"]],
  );
  equal(second.nextPageToken, "");
  deepEqual([first.total, first.totalBytes, first.filters[0]?.age], [3, "192", "1.500s"]);
});

test("filters of one namespace only", async () => {
  const { filters, total } = await ask({ namespace: "visits" });
  deepEqual([filters.map(({ timeSlice }) => timeSlice), total], [["data_1"], 1]);
  equal("observedRate" in (filters[0] ?? {}), false);
});
