/** Line charts as SVG, for documents. */
export interface Line {
  readonly name: string;
  /** Evenly spaced over the x axis. */
  readonly values: readonly number[];
}

export interface Chart {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly yMax: number;
  readonly xMax: number;
  readonly lines: readonly Line[];
}

const [WIDTH, HEIGHT] = [720, 320];
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 150, 40, 48];
const COLOURS = ["#8a8a8a", "#1f77b4", "#2a9d5c"];
const TICKS = 5;

export function lineChart({ title, x, y, yMax, xMax, lines }: Chart): string {
  const [plotWidth, plotHeight] = [WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM];
  const across = (nth: number, of: number): number =>
    LEFT + (plotWidth * nth) / Math.max(1, of - 1);
  const up = (value: number): number => TOP + plotHeight * (1 - Math.min(1, value / yMax));
  const ticks = Array.from({ length: TICKS + 1 }, (_, nth) => nth / TICKS);
  const grid = ticks.map((share) => {
    const at = up(share * yMax);
    const right = LEFT + plotWidth;
    return (
      `<line x1="${LEFT}" x2="${right}" y1="${fixed(at)}" y2="${fixed(at)}" stroke="#ddd"/>` +
      `<text x="${LEFT - 8}" y="${fixed(at + 4)}" text-anchor="end">${label(share * yMax)}</text>` +
      `<text x="${fixed(LEFT + plotWidth * share)}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${label(share * xMax)}</text>`
    );
  });
  const drawn = lines.map(({ name, values }, nth) => {
    const colour = COLOURS[nth % COLOURS.length];
    const points = values.map(
      (value, i) => `${fixed(across(i, values.length))},${fixed(up(value))}`,
    );
    const last = up(values.at(-1) ?? 0);
    return (
      `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${points.join(" ")}"/>` +
      `<text x="${LEFT + plotWidth + 8}" y="${fixed(last + 4)}" fill="${colour}">${name}</text>`
    );
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<text x="${LEFT}" y="20" font-size="14" font-weight="bold">${title}</text>`,
    ...grid,
    ...drawn,
    `<text x="${fixed(LEFT + plotWidth / 2)}" y="${HEIGHT - 8}" text-anchor="middle">${x}</text>`,
    `<text x="14" y="${fixed(TOP + plotHeight / 2)}" text-anchor="middle" transform="rotate(-90 14 ${fixed(TOP + plotHeight / 2)})">${y}</text>`,
    "</svg>",
    "",
  ].join("\n");
}

function fixed(value: number): string {
  return value.toFixed(1);
}

function label(value: number): string {
  return String(Number(value.toPrecision(3)));
}
