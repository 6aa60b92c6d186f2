import { deepEqual, equal } from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../../lib/clock.ts";
import { CheckedLevel } from "./checked-level.ts";
import { CATALOG_LEVEL_OPTIONS } from "./level-options.ts";
import { SliceRegister } from "./slice-register.ts";

test("only the newest dropped slices of a namespace are remembered, and every live one", async () => {
  const directory = await mkdtemp(join(tmpdir(), "braid-register-"));
  await CheckedLevel.create(directory, CATALOG_LEVEL_OPTIONS);
  const level = await CheckedLevel.open({
    directory,
    what: "the catalog",
    clock: systemClock,
    tuning: CATALOG_LEVEL_OPTIONS,
  });
  const register = await SliceRegister.open(level);
  await register.record("a/data_20260327", "LIVE");
  for (const day of [31, 28, 30, 29]) await register.record(`a/data_202603${day}`, "DROPPED");
  await register.record("b/data_20260301", "DROPPED");
  for (const day of [31, 28, 29]) await register.record(`a/wide_data_202603${day}_0`, "DROPPED");
  await register.forgetOldest(3);
  for (const each of [register, await SliceRegister.open(level)]) {
    deepEqual(each.dropped().sort(), [
      "a/data_20260330",
      "a/data_20260331",
      "a/wide_data_20260331_0",
      "b/data_20260301",
    ]);
    equal(each.stateOf("a/data_20260327"), "LIVE");
  }
  await level.close();
  await rm(directory, { recursive: true });
});
