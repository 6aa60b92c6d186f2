/** `bin/braid` in a fresh clone: it runs the setup before it starts. */
import { equal, match } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

for (const installed of ["nothing", "a part", "all"] as const) {
  const does = installed === "all" ? "runs at once" : "is set up first";
  test(`a clone with ${installed} installed ${does}`, () => {
    const root = mkdtempSync(join(tmpdir(), "braid-bin-"));
    try {
      for (const folder of ["bin", "scripts", "src/cli"]) {
        mkdirSync(join(root, folder), { recursive: true });
      }
      cpSync("bin/braid", join(root, "bin/braid"));
      writeFileSync(join(root, "scripts/setup.sh"), "echo setting up\n");
      writeFileSync(join(root, "src/cli/main.ts"), 'console.log("it runs");\n');
      if (installed !== "nothing") mkdirSync(join(root, "node_modules"));
      if (installed === "all") writeFileSync(join(root, "node_modules/.package-lock.json"), "{}");
      const path = `${join(process.execPath, "..")}:${process.env["PATH"] ?? ""}`;
      const ran = spawnSync("sh", [join(root, "bin/braid")], {
        encoding: "utf8",
        env: { ...process.env, PATH: path },
      });
      equal(ran.status, 0, ran.stderr);
      match(ran.stdout, /it runs/);
      equal(/setting up/.test(ran.stderr), installed !== "all");
    } finally {
      rmSync(root, { recursive: true });
    }
  });
}
