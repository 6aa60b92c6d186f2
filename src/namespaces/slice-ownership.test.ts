import { deepEqual, rejects } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import { VirtualClock, settle } from "../../tests/support/virtual-clock.ts";
import { SliceOwnership } from "./slice-ownership.ts";

test("calls for one namespace run one after another, and those for others do not wait", async () => {
  const ownership = new SliceOwnership({
    catalog: new MemoryCatalog(),
    clock: new VirtualClock(0),
  });
  const seen: string[] = [];
  const first = Promise.withResolvers<void>();
  const taking = [
    ownership.take("a", async () => {
      seen.push("a1 begins");
      await first.promise;
      seen.push("a1 ends");
    }),
    ownership.take("a", async () => void seen.push("a2")),
    ownership.take("b", async () => void seen.push("b")),
  ];
  await settle();
  deepEqual(seen, ["a1 begins", "b"]);
  first.resolve();
  await Promise.all(taking);
  deepEqual(seen, ["a1 begins", "b", "a1 ends", "a2"]);
});

test("a failure reaches its own caller, and the next caller continues", async () => {
  const ownership = new SliceOwnership({
    catalog: new MemoryCatalog(),
    clock: new VirtualClock(0),
  });
  const failing = rejects(
    ownership.take("a", () => Promise.reject(new Error("disk"))),
    /disk/,
  );
  const seen: string[] = [];
  await ownership.take("a", async () => void seen.push("next"));
  await failing;
  deepEqual(seen, ["next"]);
});
