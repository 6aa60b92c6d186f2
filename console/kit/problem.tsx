/** An error, and what to do about it. */
import { BraidError } from "../../client/connect.ts";
import { shown } from "./shown.ts";

/** What an operator can do about errors that have a usual remedy. */
const NEXT: Readonly<Record<string, string>> = {
  SERVER_UNREACHABLE: "Check that the server runs and that this browser can reach it.",
  DEADLINE_EXCEEDED: "Try again; if it stays slow, look at the server's load on the overview.",
  OVERLOADED: "Wait a moment and try again.",
  NAMESPACE_NOT_FOUND: "Check the name: the page of namespaces lists them.",
  METHOD_NOT_FOUND: "This server is older than the console: load the page again.",
};

export function Problem({
  error,
  what,
  next,
  retry,
}: {
  error: unknown;
  /** What did not work: "The splits could not be read". */
  what: string;
  /** What to do; without it the usual remedy of the error's code. */
  next?: string;
  retry?: () => void;
}) {
  const code = error instanceof BraidError ? error.code : undefined;
  const problems = error instanceof BraidError ? error.problems : [];
  const remedy = next ?? NEXT[code ?? ""];
  return (
    <div class="problem" role="alert">
      <p>
        <strong>
          <span aria-hidden="true">✕ </span>
          {shown(what)}.
        </strong>{" "}
        {errorText(error)} {code !== undefined && <code>{code}</code>}
      </p>
      {problems.length > 1 && (
        <ul>
          {problems.map((problem) => (
            <li key={problem}>{shown(problem)}</li>
          ))}
        </ul>
      )}
      {remedy !== undefined && <p>{remedy}</p>}
      {retry !== undefined && (
        <button type="button" class="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const said = shown(text);
  const sentence = said.charAt(0).toUpperCase() + said.slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}
