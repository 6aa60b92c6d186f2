/** The page of a process without methods: what it is, and where its health and metrics are. */
import { BUILD_INFO } from "../lib/build-info.ts";

export function workerPage(): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Braid worker</title>
<style>:root{color-scheme:light dark}body{margin:2rem auto;padding:0 1rem;max-width:40rem;font:16px/1.55 system-ui,sans-serif}</style>
</head>
<body>
<h1>Braid worker ${BUILD_INFO.version}</h1>
<p>This process splits wide partitions. It answers no methods: send requests to a server, <code>braid serve</code>.</p>
<ul>
<li><a href="/healthz">/healthz</a>: the process runs</li>
<li><a href="/readyz">/readyz</a>: it can reach its storage, or why not</li>
<li><a href="/metrics">/metrics</a>: for Prometheus</li>
</ul>
</body>
</html>
`;
}
