/** The advice as one page that needs nothing else: no script, no font, no network. Pure. */
import type { Advice } from "../advise.ts";
import { isoOf } from "../advice-json.ts";
import { moveTo } from "../cql.ts";
import type { Verdict } from "../criteria/criterion.ts";
import { callsOf } from "../criteria/over-shrinking.ts";
import { CRITERION_TABLE } from "../criteria/table.ts";
import { bytesText, short, shortQuantity } from "../number-text.ts";
import { whyNot } from "../recommend.ts";
import type { Judged } from "../recommend.ts";
import { escapeHtml } from "./escape.ts";
import { hotSpotsPlot, queriesPlot, sizesPlot } from "./plots.ts";
import { STYLE } from "./style.ts";

const WORDS: Readonly<Record<Verdict, string>> = { UP: "good", QUESTION: "depends", DOWN: "bad" };
/** Drawn, because not every system has a font with thumbs. */
const THUMB =
  "M3 11h4v10H3z M9 11l4-8c2 0 3 1 2.5 3L15 10h5c1.2 0 2 1 1.7 2.2l-1.8 7c-.3 1.1-1.1 1.8-2.2 1.8H9z";
const ICONS: Readonly<Record<Verdict, string>> = {
  UP: `<path d="${THUMB}"/>`,
  QUESTION: '<text x="12" y="20" text-anchor="middle" font-size="22" font-weight="700">?</text>',
  DOWN: `<path transform="rotate(180 12 12)" d="${THUMB}"/>`,
};

/** `braid`: what Braid would do with the same data, one sentence each. */
export function advicePage(advice: Advice, braid: readonly string[]): string {
  const { sample, recommended, notes } = advice;
  const { strategy } = recommended.measured;
  const title = `How to split ${sample.roles.table}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
<p class="soft">${escapeHtml(factsText(advice))}</p>
<div class="card">
<p>Recommended: <span class="best">${escapeHtml(strategy.name)}</span></p>
${reasons(recommended)}
</div>
${others(advice)}
<h2>Verdicts</h2>
${verdictTable(advice)}
<details><summary>The numbers behind the verdicts</summary>
${advice.judged.map((each) => `<h3>${escapeHtml(each.measured.strategy.name)}</h3>${reasons(each)}`).join("")}
</details>
<h2>Sizes of partitions, and the limit</h2>
<p class="soft">How many partitions there are of each size; the height is a logarithm. Right of the line they are beyond
the limit of ${short(advice.limits.rowsMax)} rows or ${bytesText(advice.limits.bytesMax)}. The figures are those of the
largest partition.</p>
${sizesPlot(advice)}
<h2>Hot spots over time</h2>
${hotSpotsPlot(advice)}
<h2>Partitions asked by each query</h2>
<p class="soft">The bar is the mean over the keys, the mark the 99th percentile; the scale is a logarithm.</p>
${queriesPlot(advice)}
<h2>CQL, and the steps to move</h2>
${moveText(advice)}
<h2>What Braid would do with the same data</h2>
<ul>${braid.map((text) => `<li>${escapeHtml(text)}</li>`).join("")}</ul>
<h2>Notes</h2>
<ul>${notes.map((note) => `<li>${escapeHtml(note)}</li>`).join("") || "<li>none</li>"}</ul>
</main>
</body>
</html>
`;
}

/** One line about the data. */
export function factsText({ sample, facts }: Advice): string {
  const times = Number.isNaN(facts.firstMicros)
    ? ""
    : `, from ${isoOf(facts.firstMicros).slice(0, 10)} to ${isoOf(facts.lastMicros).slice(0, 10)}`;
  return (
    `${sample.source}: ${shortQuantity(facts.keys, "partition")} with ` +
    `${shortQuantity(facts.rows, "row")} and ` +
    `${bytesText(facts.bytes)}${times}; ${shortQuantity(sample.rowsRead, "row")} read`
  );
}

function thumb(verdict: Verdict): string {
  return (
    `<svg class="thumb ${verdict}" viewBox="0 0 24 24" role="img" aria-label="${WORDS[verdict]}">` +
    `${ICONS[verdict]}</svg>`
  );
}

function verdictTable({ judged, recommended }: Advice): string {
  const heads = CRITERION_TABLE.map(
    ({ title, isPrice }) =>
      `<th scope="col"><span>${title}${isPrice ? " (price)" : ""}</span></th>`,
  );
  const rows = judged.map((each) => {
    const { strategy, sizes } = each.measured;
    const style = each === recommended ? ' class="best"' : "";
    const cells = each.judgements.map(
      ({ verdict, why }) => `<td title="${escapeHtml(why)}">${thumb(verdict)}</td>`,
    );
    const counts = [sizes.partitions, callsOf(each.measured).partitions].map(
      (count) => `<td class="wide number">${short(count)}</td>`,
    );
    return `<tr${style}><td>${escapeHtml(strategy.name)}</td>${cells.join("")}${counts.join("")}</tr>`;
  });
  return (
    `<table><thead><tr><th scope="col">strategy</th>${heads.join("")}` +
    '<th scope="col" class="wide number">partitions in all</th>' +
    '<th scope="col" class="wide number">asked by a query</th></tr></thead>' +
    `<tbody>${rows.join("")}</tbody></table>`
  );
}

function reasons({ judgements }: Judged): string {
  const items = judgements.map(
    ({ verdict, why }, at) =>
      `<li>${thumb(verdict)}<span><b>${CRITERION_TABLE[at]?.title}</b>: ${escapeHtml(why)}</span></li>`,
  );
  return `<ul class="reasons">${items.join("")}</ul>`;
}

function others({ runnersUp, recommended }: Advice): string {
  const items = runnersUp.map(
    (each) =>
      `<li><b>${escapeHtml(each.measured.strategy.name)}</b>: ${escapeHtml(whyNot(each, recommended))}</li>`,
  );
  return `<h2>Why not the others</h2><ul>${items.join("")}</ul>`;
}

function moveText({ sample, recommended, limits }: Advice): string {
  const { statements, steps, transition } = moveTo(
    recommended.measured.strategy,
    sample.roles,
    limits,
  );
  const list = (items: readonly string[]): string =>
    `<ol>${items.map((item) => `<li>${escapeHtml(item)}</li>`).join("")}</ol>`;
  const cql = statements.length === 0 ? "" : `<pre>${escapeHtml(statements.join("\n\n"))}</pre>`;
  const grows =
    transition.length === 0 ? "" : `<p>When a key grows into the next tier:</p>${list(transition)}`;
  return cql + list(steps) + grows;
}
