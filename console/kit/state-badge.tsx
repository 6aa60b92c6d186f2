/** A state as a word with a mark, so that colour is never alone. */
import type { ComponentChildren } from "preact";
import type { Tone } from "./tone.ts";

export type { Tone } from "./tone.ts";

const MARKS: Readonly<Record<Tone, string>> = {
  ok: "✓",
  busy: "●",
  warn: "▲",
  bad: "✕",
  idle: "–",
};

export function StateBadge({
  tone,
  mark = MARKS[tone],
  title,
  children,
}: {
  tone: Tone;
  mark?: string;
  title?: string;
  children: ComponentChildren;
}) {
  return (
    <span class={`badge badge-${tone}`} title={title}>
      <span aria-hidden="true" class="badge-mark">
        {mark}
      </span>
      {children}
    </span>
  );
}
