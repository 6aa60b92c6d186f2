/** The results of a bench: a table for people, JSON for programs. */
import { arch, cpus, platform } from "node:os";

export interface Finding {
  readonly name: string;
  /** The absolute figures, which hold for this machine only. */
  readonly figure: string;
  /** The ratio or difference that counts. */
  readonly value: number;
  /** Empty if the value is only shown. */
  readonly goal: string;
  readonly met: boolean;
}

export class Report {
  readonly #bench: string;
  readonly #findings: Finding[] = [];

  constructor(bench: string) {
    this.#bench = bench;
  }

  add(finding: Finding): void {
    this.#findings.push(finding);
    note(`${finding.name}: ${finding.value.toFixed(2)} (${finding.figure})`);
  }

  toJson(): unknown {
    const machine = `${cpus().length} x ${cpus()[0]?.model ?? "?"}, ${platform()} ${arch()}`;
    return { bench: this.#bench, node: process.version, machine, findings: this.#findings };
  }

  toTable(): string {
    const rows = [
      ["case", "value", "goal", "met", "figures"],
      ...this.#findings.map((finding) => [
        finding.name,
        finding.value.toFixed(2),
        finding.goal,
        finding.goal === "" ? "" : finding.met ? "yes" : "NO",
        finding.figure,
      ]),
    ];
    const widths = rows[0]?.map((_, column) =>
      Math.max(...rows.map((row) => row[column]?.length ?? 0)),
    );
    return rows
      .map((row) =>
        row
          .map((cell, column) => cell.padEnd(widths?.[column] ?? 0))
          .join("  ")
          .trimEnd(),
      )
      .join("\n");
  }
}

/** Progress goes to stderr, so that stdout is the result alone. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}
