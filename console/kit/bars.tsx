/** Horizontal bars with their values: shares, counts by name. A table already, so it needs no other. */
import type { Tone } from "./state-badge.tsx";

export interface Bar {
  readonly label: string;
  readonly value: number;
  readonly tone?: Tone;
  readonly href?: string;
}

export function Bars({
  caption,
  bars,
  format,
}: {
  caption: string;
  bars: readonly Bar[];
  format: (value: number) => string;
}) {
  const max = Math.max(...bars.map(({ value }) => value), 0);
  return (
    <table class="bars">
      <caption class="visually-hidden">{caption}</caption>
      <tbody>
        {bars.map(({ label, value, tone = "busy", href }) => (
          <tr key={label}>
            <th scope="row">{href === undefined ? label : <a href={href}>{label}</a>}</th>
            <td class="bar-cell" aria-hidden="true">
              <span
                class={`bar tone-${tone}`}
                style={{ width: `${max > 0 ? (value / max) * 100 : 0}%` }}
              />
            </td>
            <td class="end number">{format(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
