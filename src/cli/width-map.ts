/** `braid width-map`: the partitions of a slice as a heat map of text. */
import { Option } from "commander";
import type { Command } from "commander";
import type { WidthMap, WidthMapCell, WidthMapRow } from "../../client/connect.ts";
import { line, pairs } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { count, millis, size } from "./print.ts";
import { timeRange, withRelative } from "./relative-time.ts";
import type { Terminal } from "./terminal.ts";
import { addWatchFlag, emitWatched } from "./watch.ts";
import type { WatchFlags } from "./watch.ts";

interface MapOptions extends GlobalOptions, WatchFlags {
  readonly slice?: string;
  readonly rows: "size" | "id-hash";
  readonly measure: "partitions" | "bytes" | "events";
}

const ROWS = { size: "SIZE", "id-hash": "ID_HASH" } as const;
const MEASURES = { partitions: "PARTITIONS", bytes: "BYTES", events: "EVENTS" } as const;
/** Where the width of the screen is not known. */
const SCREEN_COLUMNS = 100;
/** The label of a row, a mark and a frame. */
const LABEL = 12;
const COLUMNS_MIN = 20;
const COLUMNS_MAX = 250;
/** From few to many. */
const SHADES = ".:-=+*#%@";

export function addWidthMap(program: Command, terminal: Terminal): void {
  addWatchFlag(program.command("width-map <namespace>"))
    .description("show the partitions of a time slice as a heat map: time across, size or id down")
    .option("--slice <slice>", "name of the time slice (default: the current one)")
    .addOption(
      new Option("--rows <rows>", "what the rows are: sizes, or hashes of ids")
        .choices(Object.keys(ROWS))
        .default("size"),
    )
    .addOption(
      new Option("--measure <measure>", "what a cell counts")
        .choices(Object.keys(MEASURES))
        .default("partitions"),
    )
    .addHelpText(
      "after",
      `\nA cell is darker the more it holds: ${SHADES}. S has partitions with a split. Rows marked with |` +
        "\nlie in the size that partitions should have, rows marked with ! above the limit." +
        "\n\nExample:\n  $ braid width-map plays --slice data_20261115" +
        "\n  $ braid width-map plays --rows id-hash --measure bytes -o json",
    )
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<MapOptions>();
      const client = clientFor(options, terminal);
      const wide = (terminal.columns ?? SCREEN_COLUMNS) - LABEL;
      const columnsMax = Math.min(COLUMNS_MAX, Math.max(COLUMNS_MIN, wide));
      await emitWatched(terminal, options, undefined, async () => {
        const map = await client.getWidthMap(namespace, options.slice ?? "", {
          rows: ROWS[options.rows],
          measure: MEASURES[options.measure],
          columnsMax,
          signal: terminal.interrupted,
        });
        const blocks = describe(map, terminal.clock.nowMicros());
        return { value: map, records: map.cells, list: "cells", blocks };
      });
    });
}

function describe(map: WidthMap, nowMicros: number): Block[] {
  const { asOf, timeSlice, sentence, excludes } = map;
  if (asOf === undefined) return [line(sentence)];
  const [start, end] = [Date.parse(map.start), Date.parse(map.end)];
  return [
    line(sentence),
    ...drawn(map).map(line),
    pairs([
      ["slice", `${timeSlice}, ${timeRange(start, end)}`],
      ["a column", `${millis(map.secondsPerColumn * 1_000)}, ${timeBuckets(map)}`],
      ["a cell", `${UNITS[map.measure]}, at most ${largestText(map)}`],
      ["partitions", `${count(map.partitions)}, ${size(map.bytes)}, ${count(map.events)} events`],
      ["target", `${size(map.densityMinBytes)} to ${size(map.densityMaxBytes)}`],
      ["limit", size(map.limitBytes)],
      ["measured", `${withRelative(asOf, nowMicros)} by a walk`],
      ["leaves out", excludes.length === 0 ? "nothing" : excludes.join("; ")],
    ]),
  ];
}

const UNITS = {
  PARTITIONS: "partitions",
  BYTES: "bytes of events",
  EVENTS: "events",
} as const;

function timeBuckets({ timeBucketsPerColumn: buckets }: WidthMap): string {
  return buckets === 1 ? "one time bucket" : `${count(buckets)} time buckets`;
}

function largestText({ cells, measure }: WidthMap): string {
  const largest = largestOf(cells);
  return measure === "BYTES" ? size(largest) : count(largest);
}

function largestOf(cells: readonly WidthMapCell[]): number {
  return cells.reduce((largest, { value }) => Math.max(largest, Number(value)), 0);
}

/** The largest sizes at the top. */
function drawn(map: WidthMap): string[] {
  const { rows, cells, columnCount } = map;
  const largest = largestOf(cells);
  const grid = rows.map(() => Array.from({ length: columnCount }, () => " "));
  for (const cell of cells) {
    const row = grid[cell.row];
    if (row !== undefined) row[cell.column] = signOf(cell, largest);
  }
  const lines = rows.map((row, nth) => {
    const shown = grid[nth]?.join("") ?? "";
    return `${labelOf(row, map).padStart(LABEL - 3)} ${markOf(row, map)}${shown}`.trimEnd();
  });
  return lines.toReversed();
}

/** By the logarithm: a cell of ten times as many is as much darker everywhere. */
function signOf({ value, splits }: WidthMapCell, largest: number): string {
  if (splits.length > 0) return "S";
  const share = Math.log1p(Number(value)) / Math.log1p(largest);
  return SHADES[Math.min(SHADES.length - 1, Math.floor(share * SHADES.length))] ?? " ";
}

function labelOf({ from, upTo }: WidthMapRow, { rowsBy }: WidthMap): string {
  if (rowsBy === "ID_HASH") return from.toFixed(3);
  return upTo === undefined ? "larger" : size(upTo);
}

function markOf({ from, upTo = Infinity }: WidthMapRow, map: WidthMap): string {
  if (map.rowsBy === "ID_HASH") return " ";
  if (from >= Number(map.limitBytes)) return "!";
  const [min, max] = [Number(map.densityMinBytes), Number(map.densityMaxBytes)];
  return upTo > min && from < max ? "|" : " ";
}
