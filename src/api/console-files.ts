/**
 * The built console: its start page at `/` and at every address of a view, and its files.
 *
 * Only files that the build lists are served. Names of assets change with their content, so
 * browsers keep them; the start page is always asked for again. A console that is built again while
 * the server runs is served from then on.
 */
import { readFile, stat } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Exchange } from "./transport/exchange.ts";

interface ServedFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** Undefined if the type does not compress. */
  readonly gzipped: Buffer | undefined;
}

interface Build {
  /** Of the list of files, in milliseconds. */
  readonly builtAt: number;
  /** By path: `/assets/index-3f2a.js`. */
  readonly files: ReadonlyMap<string, ServedFile>;
}

/** The build is beside the compiled server, or in `dist` of a clone. */
const FOLDERS = [
  new URL("../../dist/console/", import.meta.url),
  new URL("../../console/", import.meta.url),
];
/** Only a build has it; the sources in `console/` of a clone do not. */
const LIST = "files.json";

/** Scripts, styles and requests of its own server only; nothing inline, nothing from elsewhere. */
const SECURITY = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

export class ConsoleFiles {
  readonly #folders: readonly URL[];
  #build: Promise<Build | undefined> | undefined;

  constructor(folders: readonly URL[] = FOLDERS) {
    this.#folders = folders;
  }

  /** The start page answers for each view, but only to browsers: programs get "not found". */
  has({ path, headers }: Exchange): boolean {
    if (path === "/" || path.startsWith("/assets/")) return true;
    return (headers.accept ?? "").includes("text/html") && !path.startsWith("/braid.");
  }

  /** Rejects only because of a bug. */
  async answer(exchange: Exchange): Promise<void> {
    const { path } = exchange;
    const asset = path.startsWith("/assets/");
    const build = await this.#current(!asset);
    const file = build?.files.get(asset ? path : "/index.html");
    if (file !== undefined) {
      answerFile(exchange, file, asset ? "public, max-age=31536000, immutable" : "no-cache");
    } else if (asset) {
      const head = { ...SECURITY, "content-type": "text/plain", "cache-control": "no-store" };
      exchange.answer(404, head, "This file is of another version of the console.\n");
    } else {
      const head = { ...SECURITY, "content-type": TYPES["html"], "cache-control": "no-store" };
      exchange.answer(path === "/" ? 200 : 404, head, NOT_BUILT);
    }
  }

  /** The build as it was read last; with `again`, read again if it has changed. */
  async #current(again: boolean): Promise<Build | undefined> {
    const last = await this.#build;
    if (last === undefined || (again && (await this.#changed(last)))) {
      this.#build = this.#read().then((read) => read ?? last);
    }
    return this.#build;
  }

  async #changed({ builtAt }: Build): Promise<boolean> {
    const times = await Promise.all(this.#folders.map(listTime));
    const newest = times.find((time) => time !== undefined);
    return newest !== undefined && newest !== builtAt;
  }

  async #read(): Promise<Build | undefined> {
    for (const folder of this.#folders) {
      const builtAt = await listTime(folder);
      if (builtAt === undefined) continue;
      try {
        return { builtAt, files: await readFiles(folder) };
      } catch {
        // It is being replaced, or is not complete: the next request reads it again.
        return undefined;
      }
    }
    return undefined;
  }
}

async function listTime(folder: URL): Promise<number | undefined> {
  try {
    return (await stat(new URL(LIST, folder))).mtimeMs;
  } catch {
    return undefined; // No build in this folder.
  }
}

async function readFiles(folder: URL): Promise<Map<string, ServedFile>> {
  const list = JSON.parse(await readFile(new URL(LIST, folder), "utf8")) as {
    readonly files: readonly string[];
  };
  const read = list.files.map(async (name): Promise<[string, ServedFile]> => {
    const bytes = await readFile(new URL(name, folder));
    const type = TYPES[name.split(".").at(-1) ?? ""];
    const gzipped = type === undefined ? undefined : await promisify(gzip)(bytes);
    return [`/${name}`, { type: type ?? "application/octet-stream", bytes, gzipped }];
  });
  return new Map(await Promise.all(read));
}

function answerFile(exchange: Exchange, file: ServedFile, caching: string): void {
  const { type, bytes, gzipped } = file;
  const encodings = exchange.headers["accept-encoding"] ?? "";
  const packed = gzipped !== undefined && /\bgzip\b/.test(encodings) ? gzipped : undefined;
  exchange.answer(
    200,
    {
      ...SECURITY,
      "content-type": type,
      "cache-control": caching,
      vary: "accept-encoding",
      ...(packed && { "content-encoding": "gzip" }),
    },
    packed ?? bytes,
  );
}

const NOT_BUILT = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Braid</title>
</head>
<body>
<h1>Braid</h1>
<p>The server runs, but the console is not built. In a clone, build it with
<code>npm run build:console</code>, then load this page again; <code>npm start</code> builds it by itself.</p>
<p>The API reference is at <a href="/docs">/docs</a>.</p>
</body>
</html>
`;
