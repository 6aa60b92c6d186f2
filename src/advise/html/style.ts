/** The style of the page: light and dark by the reader's setting, readable on a phone. */
export const STYLE = `
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --line: #d0d7de; --back: #ffffff;
  --card: #f6f8fa; --bar: #2f6fb2; --best: #1a7f4b; --limit: #c2410c; --up: #1a7f4b; --down: #b42318;
  --question: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --soft: #9aa4af; --line: #3a424c;
  --back: #0e1217; --card: #171c23; --bar: #6ea8e0; --best: #4cc38a; --limit: #ff9a62; --up: #4cc38a;
  --down: #ff8f84; --question: #e3b341; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 1rem; background: var(--back); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0.5rem 0; }
h2 { font-size: 1.15rem; margin: 2rem 0 0.5rem; }
p { margin: 0.4rem 0; }
.soft { color: var(--soft); font-size: 0.9rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 0.75rem 1rem; }
.best { color: var(--best); font-weight: 600; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { border-bottom: 1px solid var(--line); padding: 0.25rem 0.15rem; text-align: center; }
th:first-child, td:first-child { text-align: left; padding-right: 0.5rem; }
thead th { vertical-align: bottom; font-weight: 600; }
thead th:not(:first-child) span { writing-mode: vertical-rl; transform: rotate(180deg); white-space: nowrap; }
details { border-bottom: 1px solid var(--line); padding: 0.3rem 0; }
summary { cursor: pointer; }
ul, ol { padding-left: 1.3rem; margin: 0.3rem 0; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 0.75rem;
  font-size: 0.82rem; white-space: pre-wrap; }
.row { display: grid; grid-template-columns: minmax(9rem, 15rem) 1fr; gap: 0 0.75rem; align-items: center;
  margin: 0.15rem 0; }
.row .name { font-size: 0.85rem; }
.row .plot { position: relative; }
.plot svg { display: block; width: 100%; overflow: visible; }
.thumb { display: inline-block; width: 1.05rem; height: 1.05rem; vertical-align: -0.15rem; }
.UP { fill: var(--up); } .QUESTION { fill: var(--question); } .DOWN { fill: var(--down); }
.ticks { position: relative; height: 1.2rem; font-size: 0.75rem; color: var(--soft); }
.ticks span { position: absolute; transform: translateX(-50%); white-space: nowrap; }
.ticks span.first { transform: none; } .ticks span.last { transform: translateX(-100%); }
.value { font-size: 0.75rem; color: var(--soft); }
@media (max-width: 640px) { .row { grid-template-columns: 1fr; margin: 0.4rem 0; } h1 { font-size: 1.25rem; }
  table { font-size: 0.8rem; } }
`;
