import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../lib/clock.ts";
import { droppedSnapshotsOf } from "./dropped-snapshots.ts";
import type { SizesSession } from "./partition-sizes-nodes.ts";
import type { Host, Result } from "./session.ts";

/** One node with these settings. */
function nodeWith(settings: Readonly<Record<string, string>> | "down"): SizesSession {
  return {
    // The fields of a host that the code reads.
    localHosts: [{ address: "127.0.0.1:9042", isUp: () => true } as Host],
    options: { contactPoints: [], datacenter: "here", replication: { here: 1 } },
    execute: (_kind: string, _query: string, [name]: unknown[]) => {
      if (settings === "down") return Promise.reject(new Error("away"));
      const value = settings[String(name)];
      const rows = value === undefined ? [] : [{ value }];
      return Promise.resolve({ rows, more: false } satisfies Result);
    },
  };
}

function asked(settings: Readonly<Record<string, string>> | "down") {
  const session = nodeWith(settings);
  const options = { session, prefix: "braid", clock: systemClock };
  return droppedSnapshotsOf(options, "plays-0123456789abcdef");
}

test("E6, C26: nodes that keep snapshots of dropped tables say so, with the command that clears them", async () => {
  const found = await asked({ auto_snapshot: "true" });
  match(found?.kept ?? "", /until it is cleared$/);
  equal(found?.clearCommand, "nodetool clearsnapshot --all -- braid_plays_0123456789abcdef");
  const brief = await asked({ auto_snapshot: "true", auto_snapshot_ttl: "30d" });
  match(brief?.kept ?? "", /for 30d$/);
});

test("nodes that keep none, do not know the setting or do not answer say nothing", async () => {
  for (const settings of [{ auto_snapshot: "false" }, {}, "down"] as const) {
    deepEqual(await asked(settings), undefined);
  }
});
