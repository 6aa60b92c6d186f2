import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture, never } from "../../tests/support/control-fixture.ts";
import { compareListedIds } from "../model/listed-ids.ts";
import type { EventStore } from "../ports/event-store.ts";
import { IdFinder, mergedIds } from "./find-ids.ts";

const QUERY = { prefix: "", timeSlice: "", pageSize: 100, after: "" };

/** A store with these ids in each slice, that finds at most `idsMax` in a call. */
function storeOf(slices: Readonly<Record<string, readonly string[]>>, idsMax = 100) {
  const asked: string[] = [];
  const listIds: EventStore["listIds"] = async ({ slice }, { prefix, after, ...search }) => {
    asked.push(slice);
    const all = (slices[slice] ?? [])
      .filter((id) => id.startsWith(prefix))
      .toSorted(compareListedIds)
      .filter((id) => after === undefined || compareListedIds(id, after) > 0);
    const ids = all.slice(0, Math.min(idsMax, search.idsMax));
    return { ids, ended: ids.length === all.length };
  };
  return { listIds, asked };
}

async function open(store: Pick<EventStore, "listIds">) {
  const fixture = new ControlFixture();
  await fixture.start().namespaces.create("plays", {});
  const { catalog, clock } = fixture;
  return new IdFinder({ catalog, clock, store });
}

test("ids of several slices come once, in pages that continue each other", async () => {
  const { listIds, asked } = storeOf({ data_20260328: ["a", "ab", "c"], data_20260327: ["b"] }, 1);
  const finder = await open({ listIds });
  const all: string[] = [];
  let after = "";
  do {
    const page = await finder.find("plays", { ...QUERY, after }, never);
    all.push(...page.ids);
    after = page.next;
  } while (after !== "");
  deepEqual(all, ["ab", "a", "c"]);
  equal(new Set(asked).has("data_20260329"), false, "a slice of the future holds no event");
});

test("nothing behind the point up to which every slice was searched is shown", () => {
  const pages = [
    { ids: ["a", "d"], ended: false },
    { ids: ["b", "c", "e"], ended: false },
    { ids: ["f"], ended: true },
  ];
  deepEqual(mergedIds(pages, 100), { ids: ["a", "b", "c", "d"], next: "d" });
  deepEqual(mergedIds(pages, 2), { ids: ["a", "b"], next: "b" });
  deepEqual(mergedIds([{ ids: ["a"], ended: true }], 1), { ids: ["a"], next: "" });
  deepEqual(mergedIds([], 1), { ids: [], next: "" });
});

test("one slice is searched if it is named, and a wrong name is refused", async () => {
  const { listIds, asked } = storeOf({ data_20260328: ["profile:1", "bot"] });
  const finder = await open({ listIds });
  const query = { ...QUERY, prefix: "profile:", timeSlice: "data_20260328" };
  const { ids, slices, notSearched } = await finder.find("plays", query, never);
  deepEqual([ids, slices, notSearched], [["profile:1"], ["data_20260328"], 0]);
  deepEqual(asked, ["data_20260328"]);
  const wrong = { ...QUERY, timeSlice: "data_19990101" };
  await rejects(finder.find("plays", wrong, never), { code: "TIME_SLICE_NOT_FOUND" });
});

test("an engine that stores ids by hash refuses, and says what to use instead", async () => {
  const finder = await open({});
  await rejects(finder.find("plays", QUERY, never), {
    code: "NOT_SUPPORTED",
    message: /ListPartitions .*lists the widest/,
  });
});
