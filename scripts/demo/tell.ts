/** The output of the demo: headlines with the elapsed time, plain lines, tables. */
const startedAt = performance.now();

/** A step that did not happen; the demo prints it in one line, without a stack. */
export class Untold extends Error {}

export function headline(text: string): void {
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  process.stdout.write(`\n[${seconds.padStart(3)} s] ${text}\n`);
}

export function line(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** The first row has the headers; numbers are aligned right. */
export function table(rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    line(`  ${cells.join("   ").trimEnd()}`);
  }
}

export function megabytes(bytes: number | string): string {
  const value = Number(bytes) / 1e6;
  return `${value.toFixed(value < 10 ? 1 : 0)} MB`;
}

export function count(value: number | string): string {
  return Number(value).toLocaleString("en-US");
}
