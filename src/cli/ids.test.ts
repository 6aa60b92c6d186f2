import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { fakeBraid, refuse } from "../../tests/support/fake-braid.ts";
import { runBraid } from "../../tests/support/fake-terminal.ts";

const PAGE = {
  timeSeriesIds: ["profile:1", "bot\u001b[2J"],
  nextPageToken: "",
  timeSlices: ["data_20261115"],
  notSearched: 0,
};

test("ids lists as many pages as it takes, escapes ids, and says what was left out", async () => {
  await using server = await fakeBraid(({ body }) =>
    body["pageToken"] === "" ? { ...PAGE, nextPageToken: "t" } : { ...PAGE, notSearched: 3 },
  );
  const args = ["ids", "plays", "--prefix", "p", "--slice", "data_20261115", "--limit", "4"];
  const { code, out, err } = await runBraid(args, { url: server.url });
  equal(code, 0);
  equal(out, "ID\nprofile:1\nbot\\x1b[2J\nprofile:1\nbot\\x1b[2J\n");
  match(err, /3 older slices were not searched: name one with --slice/);
  deepEqual(server.requests[1]?.body, {
    namespace: "plays",
    prefix: "p",
    timeSlice: "data_20261115",
    pageSize: 2,
    pageToken: "t",
  });
});

test("ids says that there may be more, and what a wrong limit should be", async () => {
  await using server = await fakeBraid(() => ({ ...PAGE, nextPageToken: "t" }));
  const { err, out } = await runBraid(["ids", "plays", "--limit", "2", "-o", "csv"], {
    url: server.url,
  });
  match(out, /^timeSeriesId\n/);
  match(err, /there may be more than these 2: raise --limit/);
  const wrong = await runBraid(["ids", "plays", "--limit", "0"], { url: server.url });
  equal(wrong.code, 2);
  match(wrong.err, /whole number from 1 to 100,000/);
});

test("ids shows what to use instead where the engine cannot search", async () => {
  await using server = await fakeBraid((_request, response) =>
    refuse(response, 501, "NOT_SUPPORTED", { message: "ListPartitions lists the widest ones" }),
  );
  const { code, err } = await runBraid(["ids", "plays"], { url: server.url });
  equal(code === 0, false);
  match(err, /ListPartitions lists the widest ones/);
});
