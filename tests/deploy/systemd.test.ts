/**
 * systemd's own checks of the unit.
 *
 * @needs systemd
 */
import { equal } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

const folder = mkdtempSync(join(tmpdir(), "braid-unit-"));
const unit = join(folder, "braid.service");
// The program is not installed on this machine.
const source = readFileSync("deploy/systemd/braid.service", "utf8");
writeFileSync(unit, source.replace(/^ExecStart=\S+/m, "ExecStart=/bin/true"));

after(() => {
  rmSync(folder, { recursive: true, force: true });
});

test("systemd accepts the unit", () => {
  const { status, stderr } = analyze("verify", unit);
  equal(stderr, "");
  equal(status, 0);
});

test("systemd rates what the unit could still do at 2 of 10 or less", () => {
  const { status, stdout } = analyze("security", "--offline=true", "--threshold=20", unit);
  equal(status, 0, stdout);
});

function analyze(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync("systemd-analyze", args, { encoding: "utf8" });
}
