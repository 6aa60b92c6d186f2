/**
 * Panels as short descriptions, and the JSON that Grafana wants for them. One function for each
 * kind of panel; `layOut` gives ids and places.
 */

/** Grafana's names of units. */
export type Unit =
  | "Bps"
  | "bytes"
  | "dateTimeAsIso"
  | "percentunit"
  | "reqps"
  | "cps"
  | "ops"
  | "s"
  | "short"
  | "none";

export interface Query {
  readonly expr: string;
  /** Of each series; `{{label}}` stands for a label's value. */
  readonly legend: string;
}

/** From this value on the panel has this colour; below the first it is green. */
export interface Threshold {
  readonly from: number;
  readonly color: "yellow" | "orange" | "red";
}

/** What a value of a state is called, and its colour. */
export type Words = Readonly<Record<string, readonly [text: string, color: Color]>>;

type Color = "blue" | "green" | "orange" | "purple" | "red" | "text";

interface PanelOptions {
  readonly unit: Unit;
  /** What it shows, and what to do about it; shown at the panel's title. */
  readonly description: string;
  readonly queries: readonly Query[];
  readonly thresholds?: readonly Threshold[];
  /** Alerts whose runbooks the panel links to. */
  readonly alerts?: readonly string[];
  /** Of the grid's 24 columns. */
  readonly width?: number;
  readonly height?: number;
}

export interface Panel {
  readonly title: string;
  readonly width: number;
  readonly height: number;
  readonly alerts: readonly string[];
  /** All but id, place and links. */
  readonly json: Readonly<Record<string, unknown>>;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export const DATASOURCE = { type: "prometheus", uid: "${datasource}" };

/** Lines over time. `stacked` where the series add up to a whole. */
export function chart(
  title: string,
  options: PanelOptions & {
    readonly stacked?: boolean;
    readonly max?: number;
    /** Values may be negative. */
    readonly signed?: boolean;
  },
): Panel {
  const { unit, thresholds = [], stacked = false, signed = false, max } = options;
  return panelOf(title, "timeseries", options, { width: 8, height: 8 }, "range", {
    fieldConfig: {
      defaults: {
        unit,
        ...(!signed && { min: 0 }),
        ...(max !== undefined && { max }),
        color: { mode: "palette-classic" },
        thresholds: thresholdsOf(thresholds),
        custom: {
          drawStyle: "line",
          lineWidth: 1,
          fillOpacity: stacked ? 30 : 8,
          showPoints: "never",
          spanNulls: false,
          stacking: { mode: stacked ? "normal" : "none", group: "A" },
          thresholdsStyle: { mode: thresholds.length > 0 ? "line" : "off" },
        },
      },
      overrides: [],
    },
    options: {
      legend: {
        displayMode: "table",
        placement: "bottom",
        showLegend: true,
        calcs: ["lastNotNull", "max"],
      },
      tooltip: { mode: "multi", sort: "desc" },
    },
  });
}

/** One number, the newest. */
export function figure(title: string, options: PanelOptions & { readonly words?: Words }): Panel {
  const { unit, thresholds = [], words } = options;
  return panelOf(title, "stat", options, { width: 4, height: 4 }, "instant", {
    fieldConfig: {
      defaults: {
        unit,
        color: { mode: "thresholds" },
        thresholds: thresholdsOf(thresholds),
        noValue: "no data",
        mappings: words === undefined ? [] : [wordsFor(words)],
      },
      overrides: [],
    },
    options: {
      reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false },
      colorMode: thresholds.length > 0 ? "background" : "value",
      graphMode: "none",
      justifyMode: "auto",
      orientation: "auto",
      textMode: "auto",
    },
  });
}

/** States over time, a line for each series. */
export function states(title: string, options: PanelOptions & { readonly words: Words }): Panel {
  const { unit, thresholds = [], words } = options;
  return panelOf(title, "state-timeline", options, { width: 12, height: 8 }, "range", {
    fieldConfig: {
      defaults: {
        unit,
        color: { mode: "thresholds" },
        thresholds: thresholdsOf(thresholds),
        mappings: [wordsFor(words)],
        custom: { lineWidth: 0, fillOpacity: 70, spanNulls: false },
      },
      overrides: [],
    },
    options: {
      mergeValues: true,
      showValue: "auto",
      alignValue: "left",
      rowHeight: 0.9,
      legend: { displayMode: "list", placement: "bottom", showLegend: true },
      tooltip: { mode: "single", sort: "none" },
    },
  });
}

/** How values are distributed over time: each query gives the buckets of a histogram, by `le`. */
export function heatmap(title: string, options: PanelOptions): Panel {
  const panel = panelOf(title, "heatmap", options, { width: 12, height: 8 }, "range", {
    fieldConfig: { defaults: { custom: { scaleDistribution: { type: "linear" } } }, overrides: [] },
    options: {
      calculate: false,
      cellGap: 1,
      color: {
        mode: "scheme",
        scheme: "Oranges",
        steps: 64,
        exponent: 0.5,
        fill: "dark-orange",
        scale: "exponential",
        reverse: false,
      },
      filterValues: { le: 1e-9 },
      legend: { show: true },
      rowsFrame: { layout: "auto" },
      tooltip: { mode: "single", showColorScale: false, yHistogram: false },
      yAxis: { axisPlacement: "left", reverse: false, unit: options.unit },
    },
  });
  const targets = panel.json["targets"] as readonly Record<string, unknown>[]; // As panelOf made them.
  return {
    ...panel,
    json: { ...panel.json, targets: targets.map((each) => ({ ...each, format: "heatmap" })) },
  };
}

/** The newest values as a table, one line for each series; the labels named are its columns. */
export function table(
  title: string,
  options: PanelOptions & { readonly columns: Readonly<Record<string, string>> },
): Panel {
  const { unit, columns, thresholds = [] } = options;
  const panel = panelOf(title, "table", options, { width: 24, height: 8 }, "instant", {
    fieldConfig: {
      defaults: {
        unit,
        color: { mode: "thresholds" },
        thresholds: thresholdsOf(thresholds),
        custom: { align: "left", cellOptions: { type: "auto" } },
      },
      overrides: [],
    },
    options: {
      showHeader: true,
      cellHeight: "sm",
      footer: { show: false, reducer: [], countRows: false, fields: "" },
    },
    transformations: [
      { id: "filterFieldsByName", options: { include: { names: Object.keys(columns) } } },
      {
        id: "organize",
        options: {
          excludeByName: {},
          indexByName: Object.fromEntries(Object.keys(columns).map((name, at) => [name, at])),
          renameByName: columns,
        },
      },
    ],
  });
  const targets = panel.json["targets"] as readonly Record<string, unknown>[]; // As panelOf made them.
  return {
    ...panel,
    json: { ...panel.json, targets: targets.map((each) => ({ ...each, format: "table" })) },
  };
}

/** Text in Markdown. */
export function note(
  title: string,
  content: string,
  size: { readonly width: number; readonly height: number },
): Panel {
  return {
    title,
    ...size,
    alerts: [],
    json: { type: "text", title, transparent: false, options: { mode: "markdown", content } },
  };
}

function panelOf(
  title: string,
  type: string,
  { description, queries, alerts = [], width, height }: PanelOptions,
  size: { readonly width: number; readonly height: number },
  when: "range" | "instant",
  look: Readonly<Record<string, unknown>>,
): Panel {
  const targets = queries.map(({ expr, legend }, nth) => ({
    refId: String.fromCodePoint(65 + nth),
    datasource: DATASOURCE,
    editorMode: "code",
    expr,
    legendFormat: legend,
    range: when === "range",
    instant: when === "instant",
  }));
  return {
    title,
    width: width ?? size.width,
    height: height ?? size.height,
    alerts,
    json: { type, title, description, datasource: DATASOURCE, targets, ...look },
  };
}

function thresholdsOf(thresholds: readonly Threshold[]): unknown {
  const steps = thresholds.map(({ from, color }) => ({ color, value: from }));
  return { mode: "absolute", steps: [{ color: "green", value: null }, ...steps] };
}

function wordsFor(words: Words): unknown {
  const options = Object.entries(words).map(([value, [text, color]], index) => {
    return [value, { text, color, index }] as const;
  });
  return { type: "value", options: Object.fromEntries(options) };
}

const COLUMNS = 24;

/** Places the panels of each row from left to right, and gives every panel an id. */
export function layOut(
  rows: readonly Row[],
  linksOf: (panel: Panel) => readonly unknown[],
): unknown[] {
  const placed: unknown[] = [];
  let id = 0;
  let y = 0;
  for (const row of rows) {
    placed.push({
      id: ++id,
      type: "row",
      title: row.title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
    });
    y++;
    let x = 0;
    let lineHeight = 0;
    for (const panel of row.panels) {
      if (x + panel.width > COLUMNS) {
        y += lineHeight;
        x = 0;
        lineHeight = 0;
      }
      const gridPos = { x, y, w: panel.width, h: panel.height };
      placed.push({ id: ++id, ...panel.json, gridPos, links: linksOf(panel) });
      x += panel.width;
      lineHeight = Math.max(lineHeight, panel.height);
    }
    y += lineHeight;
  }
  return placed;
}
