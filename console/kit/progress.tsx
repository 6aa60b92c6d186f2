/** How far something is. */
import { percentText } from "./format.ts";

export function Progress({
  value,
  max,
  label,
}: {
  value: number;
  max: number;
  /** What progresses: "Bytes copied". */
  label: string;
}) {
  const fraction = max > 0 ? Math.min(1, value / max) : 0;
  return (
    <span class="progress">
      <progress value={fraction} max={1} aria-label={label} />
      <span class="number">{percentText(Math.floor(fraction * 100) / 100)}</span>
    </span>
  );
}
