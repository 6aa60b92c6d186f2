/** The head of a page, and its sections. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { shown } from "./shown.ts";
import type { Tone } from "./state-badge.tsx";

/**
 * A page: heading, one plain sentence of what matters with the next step, controls, content. The
 * sentence is the most important text of the page.
 */
export function PageLayout({
  title,
  sentence,
  tone = "idle",
  actions,
  children,
}: {
  title: ComponentChildren;
  sentence?: ComponentChildren;
  tone?: Tone;
  /** Right of the heading: "copy as", filters, buttons. */
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <div class="page">
      <div class="page-head">
        <h1>{typeof title === "string" ? shown(title) : title}</h1>
        {actions !== undefined && <div class="page-actions">{actions}</div>}
      </div>
      {sentence !== undefined && (
        <p class={`page-sentence tone-${tone}`}>
          {typeof sentence === "string" ? shown(sentence) : sentence}
        </p>
      )}
      {children}
    </div>
  );
}

/** A section with a heading. `note` is a short remark beside it: a source, an age, a unit. */
export function Panel({
  title,
  note,
  actions,
  children,
}: {
  title: ComponentChildren;
  note?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  const id = useId();
  return (
    <section class="panel" aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{title}</h2>
        {note !== undefined && <div class="panel-note">{note}</div>}
        {actions !== undefined && <div class="panel-actions">{actions}</div>}
      </div>
      {children}
    </section>
  );
}

/** Figures side by side: `<Figures><Figure label="Reads">12/s</Figure></Figures>`. */
export function Figures({ children }: { children: ComponentChildren }) {
  return <dl class="figures">{children}</dl>;
}

export function Figure({
  label,
  note,
  tone = "idle",
  children,
}: {
  label: ComponentChildren;
  note?: ComponentChildren;
  tone?: Tone;
  children: ComponentChildren;
}) {
  return (
    <div class={`figure tone-${tone}`}>
      <dt>{label}</dt>
      <dd class="figure-value">{children}</dd>
      {note !== undefined && <dd class="figure-note">{note}</dd>}
    </div>
  );
}

/** Names and values of one thing, one line each. */
export function Facts({
  facts,
}: {
  facts: readonly (readonly [name: ComponentChildren, value: ComponentChildren])[];
}) {
  return (
    <dl class="facts">
      {facts.map(([name, value], index) => (
        <div key={index}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
