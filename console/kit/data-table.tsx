/**
 * A table: sorted by its heads, filtered by text, copied as tab-separated values. Beyond 200 rows
 * only the rows in view are on the page. Sort and filter are in the address.
 */
import {
  Virtualizer,
  elementScroll,
  observeElementOffset,
  observeElementRect,
} from "@tanstack/virtual-core";
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useParam } from "../frame/router.ts";
import { CopyButton } from "./code.tsx";
import { nounText } from "./format.ts";
import { shown as shownText } from "./shown.ts";

export interface Column<T> {
  readonly key: string;
  readonly head: ComponentChildren;
  readonly cell: (row: T) => ComponentChildren;
  /** What to sort by; a column without it is not sorted. */
  readonly sort?: (row: T) => number | string | undefined;
  /** For the filter and the copy; what `sort` gives if not given. */
  readonly text?: (row: T) => string;
  /** Numbers are aligned at their end; sentences wrap, unless the table is so long that it is virtual. */
  readonly align?: "end" | "wrap";
}

export interface DataTableProps<T> {
  /** Says what the table has, for everybody and for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  /** Prefix of the names in the address, when a page has several tables. */
  readonly name?: string;
  /** The first order: a column's key, "-key" for descending. */
  readonly order?: string;
  /** "partition": for the count and the filter. */
  readonly noun: string;
  readonly plural?: string;
  /** Short tables need no filter. */
  readonly filter?: boolean;
  /** Instead of the table when there are no rows. */
  readonly empty?: ComponentChildren;
  /** More rows exist than are shown: "the largest 1,000 of 48,211". */
  readonly more?: ComponentChildren;
}

const VIRTUAL_ROWS_MIN = 200;
const ROW_PX = 33;

export function DataTable<T>(props: DataTableProps<T>) {
  const { columns, rows, name = "", noun, plural, filter = true } = props;
  const [order, setOrder] = useParam(`${name}sort`, props.order ?? "");
  const [wanted, setWanted] = useParam(`${name}filter`);
  const inOrder = useMemo(() => sorted(rows, columns, order), [rows, columns, order]);
  const texts = useMemo(() => new Map<T, string>(), [rows, columns]);
  const shown = useMemo(
    () => filtered(inOrder, columns, wanted, texts),
    [inOrder, columns, wanted, texts],
  );
  if (rows.length === 0 && props.empty !== undefined) return <>{props.empty}</>;
  return (
    <div class="table-block">
      <div class="table-tools">
        {filter && (
          <input
            type="search"
            aria-label={`Filter ${plural ?? `${noun}s`}`}
            placeholder={`Filter ${plural ?? `${noun}s`}`}
            value={wanted}
            onInput={(event) => setWanted(event.currentTarget.value)}
          />
        )}
        <span class="table-count" role="status">
          {shown.length === rows.length
            ? nounText(rows.length, noun, plural)
            : `${shown.length} of ${nounText(rows.length, noun, plural)}`}
          {props.more !== undefined && <>; {props.more}</>}
        </span>
        <CopyButton text={() => valuesOf(shown, columns)} label="Copy table" />
      </div>
      <Rows {...props} shown={shown} order={order} setOrder={setOrder} />
      {shown.length === 0 && rows.length > 0 && (
        <p class="table-none">
          Nothing fits “{wanted}”.{" "}
          <button type="button" class="button button-small" onClick={() => setWanted("")}>
            Clear the filter
          </button>
        </p>
      )}
    </div>
  );
}

function Rows<T>({
  caption,
  columns,
  rowKey,
  shown,
  order,
  setOrder,
}: DataTableProps<T> & {
  shown: readonly T[];
  order: string;
  setOrder: (order: string) => void;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = shown.length > VIRTUAL_ROWS_MIN;
  const range = useVirtualRange(scroller, virtual ? shown.length : 0);
  const { start, end, before, after } = virtual
    ? range
    : { start: 0, end: shown.length, before: 0, after: 0 };
  return (
    <div
      class={virtual ? "table-scroll is-virtual" : "table-scroll"}
      ref={scroller}
      tabIndex={0}
      role="group"
      aria-label={caption}
    >
      <table class="table" aria-rowcount={shown.length + 1}>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.key} column={column} order={order} setOrder={setOrder} />
            ))}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <Gap columns={columns.length} px={before} />}
          {shown.slice(start, end).map((row, index) => (
            <tr key={rowKey(row)} aria-rowindex={virtual ? start + index + 2 : undefined}>
              {columns.map((column) => (
                <td key={column.key} class={virtual && column.align === "wrap" ? "" : column.align}>
                  {shownCell(column.cell(row))}
                </td>
              ))}
            </tr>
          ))}
          {after > 0 && <Gap columns={columns.length} px={after} />}
        </tbody>
      </table>
    </div>
  );
}

/** Text of a cell often comes from outside: a reason, a name. */
function shownCell(cell: ComponentChildren): ComponentChildren {
  return typeof cell === "string" ? shownText(cell) : cell;
}

function Gap({ columns, px }: { columns: number; px: number }) {
  return (
    <tr class="gap" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${px}px` }} />
    </tr>
  );
}

function Head<T>({
  column,
  order,
  setOrder,
}: {
  column: Column<T>;
  order: string;
  setOrder: (order: string) => void;
}) {
  const { key, head, sort, align } = column;
  const up = order === key;
  const down = order === `-${key}`;
  // Numbers are first sorted from the largest, words from A.
  const next = align === "end" ? (down ? key : `-${key}`) : up ? `-${key}` : key;
  return (
    <th
      scope="col"
      class={align === "end" ? "end" : undefined}
      aria-sort={up ? "ascending" : down ? "descending" : undefined}
    >
      {sort === undefined ? (
        head
      ) : (
        <button type="button" class="sort" onClick={() => setOrder(next)}>
          {head}
          <span aria-hidden="true" class="sort-mark">
            {up ? "↑" : down ? "↓" : ""}
          </span>
        </button>
      )}
    </th>
  );
}

interface VirtualRange {
  readonly start: number;
  readonly end: number;
  /** Pixels of the rows above and below. */
  readonly before: number;
  readonly after: number;
}

/** Which rows are in view. Without rows nothing is observed. */
function useVirtualRange(
  scroller: { current: HTMLDivElement | null },
  count: number,
): VirtualRange {
  const range = useSignal<VirtualRange>({ start: 0, end: 60, before: 0, after: 0 });
  const virtualizer = useRef<Virtualizer<HTMLDivElement, Element> | undefined>(undefined);
  useEffect(() => {
    if (count === 0) return undefined;
    const update = (each: Virtualizer<HTMLDivElement, Element>): void => {
      const items = each.getVirtualItems();
      const [first, last] = [items[0], items.at(-1)];
      if (first === undefined || last === undefined) return;
      const next = {
        start: first.index,
        end: last.index + 1,
        before: first.start,
        after: each.getTotalSize() - last.end,
      };
      const now = range.peek();
      if (next.start !== now.start || next.end !== now.end || next.after !== now.after) {
        range.value = next;
      }
    };
    const options = {
      count,
      getScrollElement: () => scroller.current,
      estimateSize: () => ROW_PX,
      overscan: 20,
      observeElementRect,
      observeElementOffset,
      scrollToFn: elementScroll,
      onChange: update,
    };
    const made = new Virtualizer<HTMLDivElement, Element>(options);
    virtualizer.current = made;
    const stop = made._didMount();
    made._willUpdate();
    update(made);
    return stop;
  }, [count]);
  return range.value;
}

function filtered<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  wanted: string,
  /** What was made for the filter before: for the next letter it need not be made again. */
  texts: Map<T, string>,
): readonly T[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const text =
      texts.get(row) ??
      columns
        .map((column) => textOf(row, column))
        .join(" ")
        .toLowerCase();
    texts.set(row, text);
    return words.every((word) => text.includes(word));
  });
}

function sorted<T>(rows: readonly T[], columns: readonly Column<T>[], order: string): readonly T[] {
  const down = order.startsWith("-");
  const by = columns.find(({ key }) => key === (down ? order.slice(1) : order))?.sort;
  if (by === undefined) return rows;
  const sign = down ? -1 : 1;
  return rows.toSorted((a, b) => sign * compared(by(a), by(b)));
}

/** Made once: a long table is compared a hundred thousand times. */
const WORDS = new Intl.Collator("en", { numeric: true });

/** What is not known comes first, so that it is last from the largest. */
function compared(a: number | string | undefined, b: number | string | undefined): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  if (typeof a === "number" && typeof b === "number") return a - b;
  return WORDS.compare(String(a), String(b));
}

function textOf<T>(row: T, { text, sort }: Column<T>): string {
  return text === undefined ? String(sort?.(row) ?? "") : text(row);
}

function valuesOf<T>(rows: readonly T[], columns: readonly Column<T>[]): string {
  const head = columns.map(({ key }) => key).join("\t");
  const lines = rows.map((row) => columns.map((column) => textOf(row, column)).join("\t"));
  return [head, ...lines].join("\n");
}
