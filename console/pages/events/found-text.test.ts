import { equal } from "node:assert/strict";
import { test } from "node:test";
import { foundText } from "./found-text.ts";

const PAGE = {
  timeSeriesIds: ["profile:1", "profile:12"],
  nextPageToken: "",
  timeSlices: ["data_20261115"],
  notSearched: 0,
};

test("a search says how many ids it found, where, and what is left", () => {
  equal(foundText(PAGE, "profile:1"), "2 ids that begin with “profile:1”, in the newest 1 slice.");
  const one = { ...PAGE, timeSeriesIds: ["profile:1"], notSearched: 3 };
  equal(foundText(one, ""), "1 id, in the newest 1 slice. 3 older slices not searched.");
  equal(
    foundText({ ...one, nextPageToken: "x" }, "p"),
    "1 id that begins with “p” so far, in the newest 1 slice. 3 older slices not searched.",
  );
  const none = { ...PAGE, timeSeriesIds: [], timeSlices: [] };
  equal(foundText(none, "p"), "There is no slice yet: write an event first.");
});
