/**
 * The API as one page to read, from the same descriptors that the server answers by. It has no
 * scripts and loads nothing from other sites.
 */
import type { DescField, DescMessage, DescMethod } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { CODES } from "../lib/errors.ts";
import { commentOf } from "./comments.ts";
import { EXAMPLE_EVENT_TIME, EXAMPLE_INTERVAL, EXAMPLES } from "./examples.ts";
import { pathOf } from "./methods/method.ts";
import { codesByStatus, summaryOf } from "./openapi.ts";

export function docsPage(methods: readonly DescMethod[]): string {
  const services = [...new Set(methods.map((method) => method.parent))];
  const messages = messagesOf(methods);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Braid API</title>
<style>${CSS}</style>
</head>
<body>
<nav aria-label="Contents">
<p class="brand"><a href="#top">Braid</a></p>
<ul><li><a href="#begin">Begin here</a></li></ul>
${services
  .map(
    (service) =>
      `<p>${escaped(service.name)}</p><ul>${methods
        .filter((method) => method.parent === service)
        .map((method) => `<li>${link(method.name)}</li>`)
        .join("")}</ul>`,
  )
  .join("\n")}
<p>Reference</p><ul><li>${link("messages")}</li><li>${link("errors")}</li><li><a href="/openapi.json">openapi.json</a></li><li><a href="/metrics">metrics</a></li></ul>
</nav>
<main id="top">
<h1>Braid API</h1>
<p>Every method is a <code>POST</code> of JSON, and the same method over gRPC on the same port, with reflection, and over
the <a href="https://connectrpc.com/docs/protocol">Connect protocol</a> (<code>application/proto</code>,
<code>application/connect+proto</code>, <code>application/connect+json</code>).
Names are lowerCamelCase, snake_case is understood too; bytes are base64, times RFC&nbsp;3339 with at most
microseconds, durations <code>"3600s"</code>, 64-bit integers strings. Unknown fields are errors.</p>
<h2 id="begin">Begin here</h2>
<p>Make a namespace, write an event that happens now, and read it back:</p>
<pre>${escaped(FIRST_STEPS)}</pre>
${services
  .map(
    (service) =>
      `<h2>${escaped(service.name)}</h2><p>${escaped(commentOf(service))}</p>${methods
        .filter((method) => method.parent === service)
        .map(methodSection)
        .join("\n")}`,
  )
  .join("\n")}
<h2 id="messages">Messages</h2>
${messages.map(messageSection).join("\n")}
<h2 id="errors">Errors</h2>
<p>An error is <code>{"code", "message", "details"}</code> with the status below; gRPC has the code as the trailer
<code>braid-code</code> and in <code>google.rpc.ErrorInfo</code>. Connect has it as the header or metadata
<code>braid-code</code> and in <code>google.rpc.ErrorInfo</code>, with Connect's own statuses.</p>
<table><thead><tr><th>HTTP</th><th>code</th><th>repeat?</th></tr></thead><tbody>
${[...codesByStatus()]
  .toSorted(([a], [b]) => a - b)
  .flatMap(([status, codes]) =>
    codes.map(
      (code) =>
        `<tr><td>${status}</td><td><code>${code}</code></td><td>${CODES[code].retry ? "yes, after Retry-After" : "no"}</td></tr>`,
    ),
  )
  .join("\n")}
</tbody></table>
</main>
</body>
</html>
`;
}

const SERVER = "http://127.0.0.1:8420";

/**
 * A request as a shell command. Fixed times would be too old when a reader copies it, so the event
 * happens now and the interval is today. Everything is in single quotes, which the shell does not
 * expand.
 */
function inPresent(body: string): string {
  return body
    .replaceAll(EXAMPLE_EVENT_TIME, `'"$(date -u +%FT%TZ)"'`)
    .replaceAll(EXAMPLE_INTERVAL.start, `'"$(date -u +%F)"'T00:00:00Z`)
    .replaceAll(EXAMPLE_INTERVAL.end, `'"$(date -u +%F)"'T23:59:59.999999Z`);
}

const FIRST_STEPS = ["CreateNamespace", "WriteEventRecordsSync", "ReadEventRecords"]
  .map((name) => {
    const request = name === "CreateNamespace" ? { namespace: "plays" } : EXAMPLES[name]?.request;
    const service = name === "CreateNamespace" ? "ControlService" : "TimeSeriesService";
    return `curl --json '${inPresent(JSON.stringify(request))}' \\\n  ${SERVER}/braid.v1.${service}/${name}`;
  })
  .join("\n");

function methodSection(method: DescMethod): string {
  const example = EXAMPLES[method.name];
  const path = pathOf({ desc: method });
  const streams = method.methodKind === "server_streaming";
  const body = JSON.stringify(example?.request ?? {}, null, 2);
  const answer = streams ? { result: example?.answer ?? {} } : (example?.answer ?? {});
  return `<section id="${method.name}">
<h3>${escaped(method.name)}${streams ? " <small>stream</small>" : ""}</h3>
<p>${escaped(summaryOf(method))}</p>
<p><code>POST ${path}</code> takes ${link(shortName(method.input))}, answers ${streams ? "lines of " : ""}${link(shortName(method.output))}.</p>
<pre>curl --json '${escaped(inPresent(body))}' \\
  ${SERVER}${path}</pre>
<details><summary>Answer</summary><pre>${escaped(JSON.stringify(answer, null, streams ? 0 : 2))}</pre></details>
</section>`;
}

function messageSection(message: DescMessage): string {
  const comment = commentOf(message);
  const fields =
    message.fields.length === 0
      ? "<p>It has no fields.</p>"
      : `<table><thead><tr><th>field</th><th>type</th><th></th></tr></thead><tbody>
${message.fields
  .map(
    (field) =>
      `<tr><td><code>${escaped(field.jsonName)}</code></td><td>${typeText(field)}</td><td>${escaped(commentOf(field))}</td></tr>`,
  )
  .join("\n")}
</tbody></table>`;
  return `<section id="${shortName(message)}"><h3>${escaped(shortName(message))}</h3>${comment === "" ? "" : `<p>${escaped(comment)}</p>`}${fields}</section>`;
}

function typeText(field: DescField): string {
  const many = field.fieldKind === "list" ? " list" : "";
  if (field.message !== undefined) {
    const { typeName } = field.message;
    if (typeName === "google.protobuf.Timestamp") return `time${many}`;
    if (typeName === "google.protobuf.Duration") return `duration${many}`;
    return `${link(shortName(field.message))}${many}`;
  }
  if (field.enum !== undefined) {
    const names = field.enum.values
      .filter((value) => value.number !== 0)
      .map((value) => value.name);
    return `<code>${names.join("</code> <code>")}</code>${many}`;
  }
  return `${(ScalarType[field.scalar ?? ScalarType.STRING] ?? "").toLowerCase()}${many}`;
}

/** Every Braid message that a method takes or returns, directly or nested, once each. */
function messagesOf(methods: readonly DescMethod[]): DescMessage[] {
  const found = new Set<DescMessage>();
  const add = (message: DescMessage): void => {
    if (found.has(message) || message.typeName.startsWith("google.")) return;
    found.add(message);
    for (const field of message.fields) if (field.message !== undefined) add(field.message);
  };
  for (const method of methods) {
    add(method.input);
    add(method.output);
  }
  return [...found].toSorted((a, b) => (shortName(a) < shortName(b) ? -1 : 1));
}

function shortName(message: DescMessage): string {
  return message.typeName.replace(/^braid\.v1\./, "");
}

function link(name: string): string {
  return `<a href="#${name}">${escaped(name)}</a>`;
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

const CSS = `
:root{color-scheme:light dark;--ink:#1d2733;--soft:#5b6875;--line:#dde3e9;--back:#fff;--panel:#f5f7f9;--link:#0b63a5}
@media (prefers-color-scheme:dark){:root{--ink:#e4e9ee;--soft:#9aa7b3;--line:#2c3641;--back:#12171d;--panel:#1a2128;--link:#6cb6f0}}
*{box-sizing:border-box}
body{margin:0;overflow-wrap:anywhere;display:grid;grid-template-columns:16rem minmax(0,1fr);font:16px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--back)}
nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1.5rem 1rem;border-right:1px solid var(--line);font-size:.875rem}
nav p{margin:1rem 0 .25rem;color:var(--soft);font-weight:600}
nav .brand{font-size:1.25rem;margin-top:0}
nav ul{list-style:none;margin:0;padding:0}
nav li{padding:.125rem 0}
main{padding:2rem 3rem 6rem;max-width:60rem}
section{padding-top:.5rem}
h2{margin-top:3rem;border-bottom:1px solid var(--line);padding-bottom:.25rem}
h3 small{color:var(--soft);font-weight:400}
a{color:var(--link);text-decoration:none}a:hover,a:focus-visible{text-decoration:underline}
code,pre{font:.85em/1.5 ui-monospace,SFMono-Regular,Menlo,monospace}
pre{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:.75rem 1rem;overflow:auto}
table{border-collapse:collapse;width:100%;font-size:.875rem}
th,td{text-align:left;vertical-align:top;padding:.35rem .75rem .35rem 0;border-bottom:1px solid var(--line)}
@media (max-width:48rem){body{display:block}nav{position:static;height:auto;border:0}nav ul{columns:2}main{padding:1rem}
thead{display:none}tr{display:block;padding:.35rem 0;border-bottom:1px solid var(--line)}td{display:block;border:0;padding:0}}
`;
