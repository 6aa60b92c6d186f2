/**
 * TypeScript source as the tests of the tree see it: without comments, without the insides of strings,
 * and as a list of imports. Everything keeps its place, so that line numbers hold.
 */

export interface SourceText {
  /** The source, comments blanked. */
  readonly code: string;
  /** The source, comments and the insides of strings and patterns blanked. */
  readonly bare: string;
}

export function readSourceText(source: string): SourceText {
  const code = source.split("");
  const bare = [...code];
  /** For each open `${`, how many braces are open inside it. */
  const templates: number[] = [];
  let before = "";
  let at = 0;

  const blank = (texts: readonly string[][], from: number, to: number): void => {
    for (const text of texts) {
      for (let i = from; i < to && i < text.length; i++) if (text[i] !== "\n") text[i] = " ";
    }
  };
  /** From behind a quote to the position of the closing one, or of a template's `${`. */
  const skipText = (from: number, quote: string): number => {
    let i = from;
    while (i < source.length && source[i] !== quote) {
      if (quote === "`" && source.startsWith("${", i)) break;
      i += source[i] === "\\" ? 2 : 1;
    }
    blank([bare], from, i);
    return i;
  };
  const skipTemplate = (from: number): number => {
    const end = skipText(from, "`");
    if (source[end] !== "$") return end + 1;
    templates.push(0);
    return end + 2;
  };

  while (at < source.length) {
    const char = source[at] ?? "";
    if (source.startsWith("//", at) || source.startsWith("/*", at)) {
      const line = source.startsWith("//", at);
      const close = source.indexOf(line ? "\n" : "*/", at + 2);
      const end = close < 0 ? source.length : close + (line ? 0 : 2);
      blank([code, bare], at, end);
      at = end;
      continue;
    }
    if (char === '"' || char === "'") at = skipText(at + 1, char) + 1;
    else if (char === "`") at = skipTemplate(at + 1);
    else if (char === "/" && beginsPattern(before)) at = skipPattern(source, at, bare);
    else {
      const open = templates.length - 1;
      if (open >= 0 && char === "{") templates[open] = (templates[open] ?? 0) + 1;
      if (open >= 0 && char === "}") {
        if (templates[open] === 0) {
          templates.pop();
          at = skipTemplate(at + 1);
          before = "`";
          continue;
        }
        templates[open] = (templates[open] ?? 0) - 1;
      }
      at++;
    }
    if (char.trim() !== "") before = (before + char).slice(-10);
    else if (!before.endsWith(" ")) before = `${before} `.slice(-10);
  }
  return { code: code.join(""), bare: bare.join("") };
}

/** Whether a slash behind this text opens a pattern; behind a value it divides. */
function beginsPattern(before: string): boolean {
  const text = before.trimEnd();
  return text === "" || /[(,=:[!&|?{};+\-*%~^<>]$|\b(?:return|typeof|case|of|in)$/.test(text);
}

function skipPattern(source: string, start: number, bare: string[]): number {
  let inClass = false;
  let at = start + 1;
  for (; at < source.length && source[at] !== "\n"; at++) {
    const char = source[at];
    if (char === "[") inClass = true;
    if (char === "]") inClass = false;
    if (char === "/" && !inClass) break;
    bare[at] = " ";
    if (char === "\\") bare[++at] = " ";
  }
  return at + 1;
}

export interface Import {
  readonly from: string;
  readonly line: number;
}

const IMPORT =
  /\b(?:(?:import|export)\s+(?:type\s+)?(?:[\w*{}\s,$]+?\s+from\s+)?|import\(\s*)["']([^"']+)["']/g;

export function importsOf({ code, bare }: SourceText): Import[] {
  return [...code.matchAll(IMPORT)]
    .filter((match) => /\w/.test(bare[match.index] ?? ""))
    .map((match) => ({ from: match[1] ?? "", line: lineAt(code, match.index) }));
}

export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

/**
 * The names given to tests: the first argument of `test`, `it`, `describe` and `suite`, and of `claim`,
 * which the conformance suites have.
 */
export function testNamesOf({ code, bare }: SourceText): string[] {
  const calls = /\b(?:test|it|describe|suite|claim)\(\s*(["'`])/g;
  return [...code.matchAll(calls)]
    .filter((match) => /\w/.test(bare[match.index] ?? ""))
    .map((match) => {
      const start = match.index + match[0].length;
      const rest = code.slice(start);
      let end = 0;
      while (end < rest.length && rest[end] !== match[1]) end += rest[end] === "\\" ? 2 : 1;
      return rest.slice(0, end);
    });
}
