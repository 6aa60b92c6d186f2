/** Data for the page of the kit: the same every time. */
import type { Tone } from "../../kit/state-badge.tsx";

export interface MadeUpPartition {
  readonly id: string;
  readonly bytes: number;
  readonly tone: Tone;
  readonly state: string;
}

const STATES: readonly [Tone, string][] = [
  ["ok", "COMPLETED"],
  ["busy", "SPLITTING"],
  ["idle", "DETECTED"],
];

export const PARTITIONS: readonly MadeUpPartition[] = Array.from({ length: 5_000 }, (_, index) => {
  const [tone, state] = STATES[index % STATES.length] ?? ["idle", "DETECTED"];
  return { id: `device-${index}`, bytes: ((index * 7919) % 4999) * 20_011, tone, state };
});

export const TIMES: readonly number[] = Array.from(
  { length: 120 },
  (_, index) => Date.UTC(2026, 10, 18, 16) + index * 60_000,
);

export const WAVES = [
  { label: "p50", values: TIMES.map((_, index) => 8 + 2 * Math.sin(index / 9)) },
  {
    label: "p99",
    values: TIMES.map((_, index) =>
      index > 40 && index < 50 ? null : 30 + 9 * Math.sin(index / 7),
    ),
  },
];

/** A bell over sizes from 1 KiB, twice as large each. */
export const BUCKETS = Array.from({ length: 40 }, (_, index) => ({
  from: 1024 * 2 ** (index / 2),
  to: 1024 * 2 ** ((index + 1) / 2),
  count: Math.round(4_000 * Math.exp(-((index - 25) ** 2) / 20)),
}));

const COLUMNS = 48;
const ROWS = 20;

export const CELLS = {
  columns: COLUMNS,
  rows: ROWS,
  values: Array.from({ length: COLUMNS * ROWS }, (_, index) => {
    const column = index % COLUMNS;
    const row = Math.floor(index / COLUMNS);
    const middle = 10 + 2 * Math.sin(column / 6);
    if (column % 20 === 0 && column > 0 && row === 17) return 1;
    return Math.round(900 * Math.exp(-((row - middle) ** 2) / 4));
  }),
};
