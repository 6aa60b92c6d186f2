/** The style of the page: light and dark by the reader's setting, readable on a phone. */
export const STYLE = `
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --line: #d0d7de; --back: #ffffff;
  --card: #f6f8fa; --bar: #2f6fb2; --best: #1a7f4b; --limit: #c2410c; --up: #1a7f4b; --down: #b42318;
  --question: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --soft: #9aa4af; --line: #3a424c;
  --back: #0e1217; --card: #171c23; --bar: #6ea8e0; --best: #4cc38a; --limit: #ff9a62; --up: #4cc38a;
  --down: #ff8f84; --question: #e3b341; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 1.5rem 1.25rem 4rem; background: var(--back); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0.5rem 0; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 0.5rem; }
h3 { font-size: 0.95rem; margin: 1.2rem 0 0.4rem; }
p { margin: 0.4rem 0; max-width: 52rem; }
.soft { color: var(--soft); font-size: 0.9rem; }
.card { background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--best);
  border-radius: 8px; padding: 0.75rem 1.1rem; margin-top: 1rem; }
.card p { font-size: 1.15rem; }
.best { color: var(--best); font-weight: 600; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { border-bottom: 1px solid var(--line); padding: 0.3rem 0.2rem; text-align: center; }
th:first-child, td:first-child { text-align: left; padding-right: 0.5rem; }
tr.best td { background: var(--card); }
tbody tr:hover td { background: var(--card); }
thead th { vertical-align: bottom; font-weight: 600; }
thead th span { writing-mode: vertical-rl; transform: rotate(180deg); white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; width: 7rem; }
details { margin-top: 0.75rem; }
summary { cursor: pointer; color: var(--bar); }
ul, ol { padding-left: 1.3rem; margin: 0.3rem 0; max-width: 60rem; }
li { margin: 0.2rem 0; }
.reasons { list-style: none; padding: 0; }
.reasons li { display: flex; gap: 0.6rem; }
.reasons .thumb { flex: none; margin-top: 0.2rem; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 0.75rem 1rem;
  font-size: 0.85rem; white-space: pre-wrap; }
.plots { margin-top: 0.75rem; }
.row { display: grid; grid-template-columns: 13rem 1fr 13rem; gap: 0 1rem; align-items: end; margin: 0.5rem 0; }
.joined .row { margin: 0; }
.row .name { font-size: 0.85rem; line-height: 1.3; }
.row .plot { position: relative; border-bottom: 1px solid var(--line); }
.row:last-child .plot { border: 0; }
.plot svg { display: block; width: 100%; overflow: visible; }
.value { font-size: 0.8rem; line-height: 1.3; color: var(--soft); font-variant-numeric: tabular-nums; }
.beyond { color: var(--limit); font-weight: 600; }
.thumb { display: inline-block; width: 1.05rem; height: 1.05rem; vertical-align: -0.15rem; }
.UP { fill: var(--up); } .QUESTION { fill: var(--question); } .DOWN { fill: var(--down); }
.ticks { position: relative; height: 2.2rem; margin-top: 0.2rem; font-size: 0.75rem; line-height: 1.3;
  color: var(--soft); }
.ticks span { position: absolute; transform: translateX(-50%); white-space: pre; text-align: center; }
.ticks span.first { transform: none; text-align: left; }
.ticks span.last { transform: translateX(-100%); text-align: right; }
@media (max-width: 640px) {
  body { padding: 1rem 1rem 3rem; } h1 { font-size: 1.3rem; } .wide { display: none; } table { font-size: 0.8rem; }
  .row, .joined .row { grid-template-columns: auto 1fr; margin: 0.6rem 0; }
  .row .plot { grid-column: 1 / -1; grid-row: 2; } .row .value { text-align: right; }
}
`;
