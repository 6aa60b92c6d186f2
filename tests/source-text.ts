/**
 * TypeScript source for the tests of the tree, parsed by oxc: code without comments and string
 * contents, the comments, the imports and the titles of tests. Blanked text keeps its length, so
 * that positions and line numbers stay valid.
 */
import { parseSync, Visitor } from "oxc-parser";

export interface Import {
  readonly from: string;
  readonly line: number;
}

export interface SourceText {
  /** The source with comments and the contents of strings, templates and patterns blanked. */
  readonly bare: string;
  readonly comments: readonly { readonly text: string; readonly line: number }[];
  /** Static and dynamic imports, and re-exports. */
  readonly imports: readonly Import[];
  /**
   * First arguments of `test`, `it`, `describe`, `suite`, and of `claim` in the conformance suites.
   */
  readonly testNames: readonly string[];
}

interface Span {
  readonly start: number;
  readonly end: number;
}

const TEST_FUNCTIONS = new Set(["test", "it", "describe", "suite", "claim"]);

export function readSourceText(source: string): SourceText {
  const { program, comments } = parseSync("source.ts", source);
  const hidden: Span[] = [...comments];
  const imports: Import[] = [];
  const testNames: string[] = [];
  const addImport = (from: unknown, { start }: Span): void => {
    if (typeof from === "string") imports.push({ from, line: lineAt(source, start) });
  };
  new Visitor({
    Literal: (node) => {
      if (typeof node.value === "string" || "regex" in node) hidden.push(inside(node));
    },
    // Its span includes the backtick or brace before it, and the backtick or `${` after it.
    TemplateElement: ({ start, end, tail }) =>
      hidden.push({ start: start + 1, end: end - (tail ? 1 : 2) }),
    ImportDeclaration: (node) => addImport(node.source.value, node),
    ExportNamedDeclaration: (node) => addImport(node.source?.value, node),
    ExportAllDeclaration: (node) => addImport(node.source.value, node),
    ImportExpression: ({ source: from, start, end }) => {
      if (from.type === "Literal") addImport(from.value, { start, end });
    },
    TSImportType: ({ source: from, start, end }) => addImport(from.value, { start, end }),
    CallExpression: ({ callee, arguments: [name] }) => {
      if (callee.type !== "Identifier" || !TEST_FUNCTIONS.has(callee.name)) return;
      if (name?.type !== "Literal" && name?.type !== "TemplateLiteral") return;
      testNames.push(source.slice(name.start + 1, name.end - 1));
    },
  }).visit(program);
  return {
    bare: blanked(source, hidden),
    comments: comments.map(({ value, start }) => ({ text: value, line: lineAt(source, start) })),
    imports,
    testNames,
  };
}

export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

/** Without the quotes. */
function inside({ start, end }: Span): Span {
  return { start: start + 1, end: end - 1 };
}

function blanked(source: string, spans: readonly Span[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    if (start < at) continue;
    parts.push(source.slice(at, start), source.slice(start, end).replaceAll(/[^\n]/g, " "));
    at = end;
  }
  return parts.join("") + source.slice(at);
}
