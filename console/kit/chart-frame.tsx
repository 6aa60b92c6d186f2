/**
 * Around every chart: its title, one sentence that says what it shows, and the same figures as a
 * table. The table is in the page's address.
 */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { useParam } from "../frame/router.ts";

export interface ChartTable {
  readonly heads: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A table of more rows would be slower than the chart it explains. */
const TABLE_ROWS_MAX = 1_000;

export function ChartFrame({
  title,
  summary,
  name,
  table,
  legend,
  note,
  children,
}: {
  title: string;
  /** One sentence, also the text of the picture for screen readers. */
  summary: string;
  /** In the address: `table=name`. */
  name: string;
  table: () => ChartTable;
  legend?: ComponentChildren;
  note?: ComponentChildren;
  children: ComponentChildren;
}) {
  const [shown, setShown] = useParam("table");
  const asTable = shown === name;
  const id = useId();
  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption class="chart-head">
        <span class="chart-title" id={id}>
          {title}
        </span>
        {legend !== undefined && <span class="chart-legend">{legend}</span>}
        <button
          type="button"
          class="button button-small"
          aria-pressed={asTable}
          onClick={() => setShown(asTable ? "" : name)}
        >
          {asTable ? "Chart" : "Table"}
          <span class="visually-hidden"> of {title}</span>
        </button>
      </figcaption>
      {asTable ? <FigureTable title={title} table={table()} /> : children}
      <p class="chart-summary">
        {summary}
        {note !== undefined && <> {note}</>}
      </p>
    </figure>
  );
}

function FigureTable({ title, table: { heads, rows } }: { title: string; table: ChartTable }) {
  const left = rows.length - TABLE_ROWS_MAX;
  return (
    <div class="table-scroll is-short" tabIndex={0} role="group" aria-label={title}>
      <table class="table">
        <caption class="visually-hidden">{title}</caption>
        <thead>
          <tr>
            {heads.map((head, index) => (
              <th key={head} scope="col" class={index > 0 ? "end" : undefined}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, TABLE_ROWS_MAX).map((row, index) => (
            <tr key={index}>
              {row.map((text, column) => (
                <td key={column} class={column > 0 ? "end" : undefined}>
                  {text}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {left > 0 && <p>{left} more rows are not shown.</p>}
    </div>
  );
}
