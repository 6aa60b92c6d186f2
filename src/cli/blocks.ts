/**
 * The output of a command before it is formatted: tables, pairs and lines. The same description is
 * printed aligned and in colour on a terminal, and as plain cells with `-o text`.
 */
import { printable } from "./print.ts";
import { paint, paintState } from "./style.ts";
import type { Look } from "./style.ts";

export type Block =
  | { readonly heads: readonly string[]; readonly rows: readonly (readonly string[])[] }
  | { readonly pairs: readonly (readonly [string, string])[] }
  | { readonly line: string };

/**
 * Columns by their heads. A head may begin with signs: ">" aligns right, for numbers; "=" is never
 * cut; "?" is left out if the screen is too narrow for all columns.
 */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): Block {
  return { heads, rows };
}

/** Names and values, one pair per line. */
export function pairs(rows: readonly (readonly [string, string])[]): Block {
  return { pairs: rows };
}

/** A single line, for example the title of a table. */
export function line(text: string): Block {
  return { line: text };
}

/**
 * Aligned. A table wider than the screen first loses its optional columns; then its widest columns
 * are cut.
 */
export function renderAligned(blocks: readonly Block[], look: Look): string {
  return blocks.map((block) => aligned(block, look)).join("");
}

/** For other programs: tabs between cells, no heads, nothing cut. */
export function renderCells(blocks: readonly Block[]): string {
  return blocks
    .map((block) => {
      if ("line" in block) return block.line === "" ? "" : `${printable(block.line)}\n`;
      const rows = "pairs" in block ? block.pairs : block.rows;
      return rows.map((row) => `${row.map(printable).join("\t")}\n`).join("");
    })
    .join("");
}

export function alignRow(
  row: readonly string[],
  heads: readonly string[],
  widths: readonly number[],
): string {
  return alignCells(row, heads, widths).join(GAP).trimEnd();
}

const GAP = "  ";
const SIGNS = /^[>=?]+/;
/** A column is never cut below this width, so that a name stays recognisable. */
const COLUMN_MIN = 8;

function aligned(block: Block, look: Look): string {
  if ("line" in block) return `${printable(block.line)}\n`;
  if ("pairs" in block) return alignedPairs(block.pairs, look);
  return alignedTable(block.heads, block.rows, look);
}

function alignedPairs(rows: readonly (readonly [string, string])[], look: Look): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows
    .map(([name, value]) => {
      const shown = paintState(printable(value), look.colour);
      return `${paint("bold", name.padEnd(width), look.colour)}${GAP}${shown}\n`;
    })
    .join("");
}

function alignedTable(
  allHeads: readonly string[],
  rows: readonly (readonly string[])[],
  { colour, columns = Number.POSITIVE_INFINITY }: Look,
): string {
  const all = [
    allHeads.map((head) => head.replace(SIGNS, "")),
    ...rows.map((row) => row.map(printable)),
  ];
  const natural = allHeads.map((_, at) => Math.max(...all.map((row) => lengthOf(row[at]))));
  const kept = keptColumns(allHeads, natural, columns);
  const heads = kept.map((at) => allHeads[at] ?? "");
  const widths = fitted(
    heads,
    kept.map((at) => natural[at] ?? 0),
    columns,
  );
  const lines = all.map((row, nth) => {
    const cut = kept.map((at, column) => shorten(row[at] ?? "", widths[column] ?? 0));
    const padded = alignCells(cut, heads, widths);
    // The last cell needs no padding.
    const trimmed = padded.map((cell, at) => (at === padded.length - 1 ? cell.trimEnd() : cell));
    if (nth > 0) return trimmed.map((cell) => paintState(cell, colour)).join(GAP);
    return paint("bold", trimmed.join(GAP).trimEnd(), colour);
  });
  return lines.map((text) => `${text.trimEnd()}\n`).join("");
}

/** The indexes of the columns that fit the screen when every column that can be cut is cut. */
function keptColumns(
  heads: readonly string[],
  natural: readonly number[],
  columns: number,
): number[] {
  let kept = heads.map((_, at) => at);
  const least = (at: number): number =>
    isCut(heads[at]) ? Math.min(natural[at] ?? 0, COLUMN_MIN) : (natural[at] ?? 0);
  while (rowWidth(kept.map(least)) > columns) {
    const last = kept.findLast((at) => signsOf(heads[at]).includes("?"));
    if (last === undefined) break;
    kept = kept.filter((at) => at !== last);
  }
  return kept;
}

/** Cuts the widest column until the row fits, or until no column can be cut further. */
function fitted(heads: readonly string[], natural: readonly number[], columns: number): number[] {
  const widths = [...natural];
  let over = rowWidth(widths) - columns;
  while (over > 0) {
    const free = widths.filter((_, at) => isCut(heads[at]));
    const widest = Math.max(0, ...free);
    if (widest <= COLUMN_MIN) break;
    // The last of equally wide columns, because the first ones identify the row.
    const at = widths.findLastIndex((width, column) => width === widest && isCut(heads[column]));
    const next = Math.max(COLUMN_MIN, ...free.filter((width) => width < widest));
    const cut = Math.min(over, Math.max(1, widest - next));
    widths[at] = widest - cut;
    over -= cut;
  }
  return widths;
}

function rowWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));
}

/** Numbers are not cut: half a number would be another number. */
function isCut(head: string | undefined): boolean {
  return !/[>=]/.test(signsOf(head));
}

function signsOf(head: string | undefined): string {
  return SIGNS.exec(head ?? "")?.[0] ?? "";
}

function shorten(cell: string, width: number): string {
  const characters = Array.from(cell);
  return characters.length <= width ? cell : `${characters.slice(0, width - 1).join("")}…`;
}

function alignCells(
  row: readonly string[],
  heads: readonly string[],
  widths: readonly number[],
): string[] {
  return row.map((cell, column) => {
    const padding = " ".repeat(Math.max(0, (widths[column] ?? 0) - lengthOf(cell)));
    return signsOf(heads[column]).includes(">") ? padding + cell : cell + padding;
  });
}

function lengthOf(cell: string | undefined): number {
  return Array.from(cell ?? "").length;
}
