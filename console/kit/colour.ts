/** Colours of the tokens for what is drawn on a canvas. */

/** The colour of a token such as "--series-1", as the theme has it now. */
export function colourOf(token: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${token})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** The red, green and blue of a token, each 0 to 255. */
export function rgbOf(token: string): readonly [number, number, number] {
  const canvas = document.createElement("canvas");
  canvas.width = 1;
  canvas.height = 1;
  const context = canvas.getContext("2d");
  if (context === null) return [0, 0, 0];
  context.fillStyle = colourOf(token);
  context.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0] = context.getImageData(0, 0, 1, 1).data;
  return [red, green, blue];
}

/** The series of a chart, in order: distinguished by dashes too, because colour is never alone. */
export const SERIES: readonly { token: string; dash: readonly number[] }[] = [
  { token: "--series-1", dash: [] },
  { token: "--series-2", dash: [6, 3] },
  { token: "--series-3", dash: [2, 3] },
  { token: "--series-4", dash: [8, 3, 2, 3] },
  { token: "--series-5", dash: [1, 2] },
];
