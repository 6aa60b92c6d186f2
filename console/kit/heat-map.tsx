/**
 * A heat map on a canvas: columns across, rows from the bottom up, each cell a number. Cells that
 * are brushed with the mouse, or chosen by keyboard, are handed to the page.
 */
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { colours } from "../frame/theme.ts";
import type { Cell, CellRange } from "./cell-range.ts";
import { ChartFrame } from "./chart-frame.tsx";
import { rgbOf } from "./colour.ts";
import { useWidth } from "./use-width.ts";

export interface HeatMapProps {
  readonly title: string;
  /** In the address, for the table view. */
  readonly name: string;
  readonly columns: number;
  readonly rows: number;
  /** Row by row from the bottom: `values[row * columns + column]`. Cells of 0 are empty. */
  readonly values: ArrayLike<number>;
  readonly columnLabel: (column: number) => string;
  readonly rowLabel: (row: number) => string;
  /** A value with its unit: "12 partitions". */
  readonly format: (value: number) => string;
  readonly summary: string;
  /** Rows that values should be in, drawn as a band. */
  readonly band?: { readonly from: number; readonly to: number; readonly label: string };
  /** Lines above a row: a limit. */
  readonly lines?: readonly { readonly row: number; readonly label: string }[];
  /** Cells with a mark: splits. */
  readonly marks?: readonly (Cell & { readonly label: string })[];
  readonly selected?: CellRange | undefined;
  /** Called with one cell on a click or Enter, with more when they are brushed. */
  readonly onSelect?: (range: CellRange) => void;
  readonly height?: number;
}

const LEFT_PX = 72;
const BOTTOM_PX = 22;
/** A time below a column, with some room. */
const TICK_PX = 170;
const HEAT = ["--heat-1", "--heat-2", "--heat-3", "--heat-4", "--heat-5"];

export function HeatMap(props: HeatMapProps) {
  const { title, name, columns, rows, summary, rowLabel, columnLabel, height = 300 } = props;
  const [holder, width] = useWidth<HTMLDivElement>();
  const across = Math.max(1, width - LEFT_PX);
  const down = height - BOTTOM_PX;
  return (
    <ChartFrame
      title={title}
      name={name}
      summary={summary}
      legend={<HeatLegend {...props} />}
      table={() => tableOf(props)}
    >
      <div class="heat-map" ref={holder} style={{ height: `${height}px` }}>
        {width > 0 && (
          <>
            <Cells {...props} across={across} down={down} />
            <svg class="heat-axes" width={width} height={height} aria-hidden="true">
              {ticksOf(rows, Math.floor(down / 26)).map((row) => (
                <text
                  key={row}
                  x={LEFT_PX - 8}
                  y={down - ((row + 0.5) * down) / rows + 4}
                  text-anchor="end"
                >
                  {rowLabel(row)}
                </text>
              ))}
              {ticksOf(columns, Math.floor(across / TICK_PX)).map((column) => {
                const x = LEFT_PX + ((column + 0.5) * across) / columns;
                return x > width - TICK_PX / 2 ? undefined : (
                  <text key={column} x={x} y={height - 6} text-anchor="middle">
                    {columnLabel(column)}
                  </text>
                );
              })}
            </svg>
          </>
        )}
      </div>
    </ChartFrame>
  );
}

function Cells(props: HeatMapProps & { across: number; down: number }) {
  const { title, summary, columns, rows, values, format, rowLabel, columnLabel } = props;
  const { across, down, band, lines = [], marks = [], selected, onSelect } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const cursor = useSignal<Cell | undefined>(undefined);
  const pressed = useSignal<Cell | undefined>(undefined);
  const most = useMemo(() => largest(values), [values]);
  const theme = colours.value;

  useEffect(() => {
    if (canvas.current !== null) draw(canvas.current, columns, rows, values, most);
  }, [values, columns, rows, most, theme]);

  const cellAt = (event: MouseEvent & { currentTarget: EventTarget & Element }): Cell => {
    const box = event.currentTarget.getBoundingClientRect();
    return {
      column: within(Math.floor(((event.clientX - box.left) / box.width) * columns), columns),
      row: within(rows - 1 - Math.floor(((event.clientY - box.top) / box.height) * rows), rows),
    };
  };
  const textOf = ({ column, row }: Cell): string => {
    const mark = marks.find((each) => each.column === column && each.row === row);
    const value = format(values[row * columns + column] ?? 0);
    return `${columnLabel(column)}, ${rowLabel(row)}: ${value}${mark === undefined ? "" : `; ${mark.label}`}`;
  };
  const moved = (event: KeyboardEvent): void => {
    const now = cursor.value ?? { column: 0, row: 0 };
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      onSelect?.({ from: now, to: now });
      return;
    }
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    cursor.value = {
      column: within(now.column + step.column, columns),
      row: within(now.row + step.row, rows),
    };
  };
  const brushed =
    pressed.value !== undefined && cursor.value !== undefined
      ? rangeOf(pressed.value, cursor.value)
      : selected;
  const x = (column: number): number => (column * across) / columns;
  const y = (row: number): number => down - (row * down) / rows;
  return (
    <div
      class="heat-cells"
      style={{ left: `${LEFT_PX}px`, width: `${across}px`, height: `${down}px` }}
      tabIndex={0}
      role="group"
      aria-label={`${title}: arrow keys move over the cells${onSelect === undefined ? "" : ", Enter chooses one"}`}
      onKeyDown={moved}
      onMouseMove={(event) => (cursor.value = cellAt(event))}
      onMouseLeave={() => {
        cursor.value = undefined;
        pressed.value = undefined;
      }}
      onMouseDown={(event) => {
        if (onSelect !== undefined) pressed.value = cellAt(event);
      }}
      onMouseUp={(event) => {
        if (pressed.value !== undefined) onSelect?.(rangeOf(pressed.value, cellAt(event)));
        pressed.value = undefined;
      }}
    >
      <canvas ref={canvas} role="img" aria-label={`${title}. ${summary}`} />
      <svg width={across} height={down} aria-hidden="true">
        {band !== undefined && (
          <g class="heat-band">
            <rect x={0} y={y(band.to + 1)} width={across} height={y(band.from) - y(band.to + 1)} />
            <text x={6} y={y(band.to + 1) + 13}>
              {band.label}
            </text>
          </g>
        )}
        {lines.map(({ row, label }) => (
          <g key={label} class="heat-line">
            <line x1={0} x2={across} y1={y(row + 1)} y2={y(row + 1)} />
            <text x={across - 6} y={y(row + 1) - 4} text-anchor="end">
              {label}
            </text>
          </g>
        ))}
        {marks.map(({ column, row, label }) => (
          <circle
            key={`${column} ${row} ${label}`}
            class="heat-mark"
            cx={x(column + 0.5)}
            cy={y(row + 0.5)}
            r={3.5}
          />
        ))}
        {brushed !== undefined && (
          <rect
            class="heat-selected"
            x={x(brushed.from.column)}
            y={y(brushed.to.row + 1)}
            width={x(brushed.to.column + 1) - x(brushed.from.column)}
            height={y(brushed.from.row) - y(brushed.to.row + 1)}
          />
        )}
        {cursor.value !== undefined && (
          <rect
            class="heat-cursor"
            x={x(cursor.value.column)}
            y={y(cursor.value.row + 1)}
            width={Math.max(2, across / columns)}
            height={Math.max(2, down / rows)}
          />
        )}
      </svg>
      <div class="heat-readout" aria-live="polite">
        {cursor.value === undefined ? "" : textOf(cursor.value)}
      </div>
    </div>
  );
}

const STEPS: Readonly<Record<string, Cell>> = {
  ArrowLeft: { column: -1, row: 0 },
  ArrowRight: { column: 1, row: 0 },
  ArrowUp: { column: 0, row: 1 },
  ArrowDown: { column: 0, row: -1 },
};

function HeatLegend({ values, format }: HeatMapProps) {
  const most = largest(values);
  // The colours of the theme are read when it is drawn.
  void colours.value;
  return (
    <span class="legend-item">
      {format(1)}
      <span class="heat-scale" aria-hidden="true" style={{ background: scaleOf(most) }} />
      {format(Math.max(most, 1))}
    </span>
  );
}

/** The colours of the cells from 1 to the most. */
function scaleOf(most: number): string {
  const palette = HEAT.map(rgbOf);
  const least = heatOf(1, most);
  const stops = Array.from({ length: 9 }, (_, nth) => {
    const [red, green, blue] = mixed(palette, least + ((1 - least) * nth) / 8);
    return `rgb(${red} ${green} ${blue})`;
  });
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/** One pixel a cell; the browser enlarges it without smoothing. */
function draw(
  canvas: HTMLCanvasElement,
  columns: number,
  rows: number,
  values: ArrayLike<number>,
  most: number,
): void {
  if (columns === 0 || rows === 0) return;
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  if (context === null) return;
  const palette = HEAT.map(rgbOf);
  const image = context.createImageData(columns, rows);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const value = values[row * columns + column] ?? 0;
      if (value <= 0) continue;
      const at = ((rows - 1 - row) * columns + column) * 4;
      const [red, green, blue] = mixed(palette, heatOf(value, most));
      image.data[at] = red;
      image.data[at + 1] = green;
      image.data[at + 2] = blue;
      image.data[at + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}

/** From 0 to 1, by logarithm: one partition is seen beside thousands. */
function heatOf(value: number, most: number): number {
  return most <= 1 ? 1 : Math.log1p(value) / Math.log1p(most);
}

type Colour = readonly [number, number, number];

function mixed(palette: readonly Colour[], heat: number): Colour {
  const place = Math.min(1, Math.max(0, heat)) * (palette.length - 1);
  const low = palette[Math.floor(place)] ?? [0, 0, 0];
  const high = palette[Math.ceil(place)] ?? low;
  const share = place - Math.floor(place);
  const mix = (a: number, b: number): number => Math.round(a + (b - a) * share);
  return [mix(low[0], high[0]), mix(low[1], high[1]), mix(low[2], high[2])];
}

function largest(values: ArrayLike<number>): number {
  let most = 0;
  for (let index = 0; index < values.length; index++) most = Math.max(most, values[index] ?? 0);
  return most;
}

function within(value: number, count: number): number {
  return Math.min(Math.max(value, 0), count - 1);
}

function rangeOf(a: Cell, b: Cell): CellRange {
  return {
    from: { column: Math.min(a.column, b.column), row: Math.min(a.row, b.row) },
    to: { column: Math.max(a.column, b.column), row: Math.max(a.row, b.row) },
  };
}

/** At most `most` of them, evenly. */
function ticksOf(count: number, most: number): number[] {
  const step = Math.max(1, Math.ceil(count / Math.max(1, most)));
  return Array.from({ length: Math.ceil(count / step) }, (_, index) => index * step);
}

/** Only cells that are not empty, the largest first. */
function tableOf({ columns, rows, values, columnLabel, rowLabel, format }: HeatMapProps) {
  const cells = Array.from({ length: columns * rows }, (_, index) => index)
    .filter((index) => (values[index] ?? 0) > 0)
    .toSorted((a, b) => (values[b] ?? 0) - (values[a] ?? 0));
  return {
    heads: ["Column", "Row", "Value"],
    rows: cells.map((index) => [
      columnLabel(index % columns),
      rowLabel(Math.floor(index / columns)),
      format(values[index] ?? 0),
    ]),
  };
}
