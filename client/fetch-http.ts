/** HTTP by `fetch`: for browsers, for runtimes without `node:http`, and for a `fetch` of the caller. */
import { joined, tooLong } from "./http.ts";
import type { HttpAnswer, SendHttp } from "./http.ts";

export function fetchHttp(url: string, send: typeof fetch): SendHttp {
  return async ({ path, headers, body }, scope) => {
    const { signal } = scope;
    signal.throwIfAborted();
    const init = { method: "POST", headers, body, signal };
    return answerOf(await send(`${url}/${path}`, init));
  };
}

function answerOf(response: Response): HttpAnswer {
  return {
    status: response.status,
    header: (name) => response.headers.get(name) ?? undefined,
    async body(bytesMax) {
      const chunks: Uint8Array[] = [];
      let length = 0;
      for await (const chunk of chunksOf(response)) {
        length += chunk.length;
        if (length > bytesMax) throw tooLong(bytesMax);
        chunks.push(chunk);
      }
      return joined(chunks, length);
    },
    chunks: () => chunksOf(response),
  };
}

async function* chunksOf(response: Response): AsyncGenerator<Uint8Array, void, undefined> {
  if (response.body === null) return;
  // Not `for await` over the body: some browsers cannot.
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // Makes the server stop. It fails if the connection has failed, and then nothing is left to
    // stop.
    reader.cancel().catch(() => undefined);
  }
}
