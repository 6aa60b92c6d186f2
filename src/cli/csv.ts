/** CSV (RFC 4180) of API records: nested fields become columns such as `config.acceptLimit`. */

/** `columns`: the head of a list without records. */
export function csv(records: readonly object[], columns: readonly string[] = []): string {
  const flat = records.map((record) => new Map(fieldsOf(record, "")));
  const found = [...new Set(flat.flatMap((fields) => [...fields.keys()]))];
  const names = records.length === 0 ? columns : found;
  if (names.length === 0) return "";
  const rows = flat.map((fields) => names.map((name) => fields.get(name) ?? ""));
  return [names, ...rows].map(csvRow).join("");
}

export function csvRow(cells: readonly string[]): string {
  return `${cells.map(quoted).join(",")}\n`;
}

function* fieldsOf(value: object, prefix: string): Generator<[string, string]> {
  for (const [name, field] of Object.entries(value) as [string, unknown][]) {
    const path = `${prefix}${name}`;
    if (typeof field === "string") yield [path, field];
    // A list has no columns of its own.
    else if (typeof field !== "object" || Array.isArray(field)) yield [path, JSON.stringify(field)];
    else if (field !== null) yield* fieldsOf(field, `${path}.`);
  }
}

function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
