/** The runbooks of docs/operate/alerts.md as a dashboard, so that links to them work without a network. */
import { join } from "node:path";
import { note } from "./panel.ts";
import type { Row } from "./panel.ts";

export const RUNBOOKS_FILE = join(import.meta.dirname, "..", "..", "docs", "operate", "alerts.md");

export interface Runbook {
  readonly alert: string;
  readonly text: string;
}

/** The sections whose headings are names of alerts. */
export function readRunbooks(document: string): readonly Runbook[] {
  return document.split(/^#{2,3} /m).flatMap((section) => {
    const [heading = "", ...lines] = section.split("\n");
    return /^Braid\w+$/.test(heading) ? [{ alert: heading, text: lines.join("\n").trim() }] : [];
  });
}

/** Links between documents lead nowhere in Grafana: only their words are kept, and the file's name. */
export function runbookRows(runbooks: readonly Runbook[]): readonly Row[] {
  const plain = (text: string): string =>
    text.replaceAll(/\[([^\]]+)\]\((?!https?:)([^)]+)\)/g, "$1 (docs/operate/$2)");
  const panels = runbooks.map(({ alert, text }) =>
    note(alert, plain(text), { width: 12, height: 9 }),
  );
  return [{ title: "Runbooks", panels }];
}
