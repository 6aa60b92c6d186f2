/** Kills the real server without warning while callers write to it. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { BraidError, connect } from "../../client/connect.ts";
import type { BraidClient } from "../../client/connect.ts";
import { startServer } from "../support/started-server.ts";

const KILLS = Number(process.env["BRAID_KILLS"] ?? 12);
const WRITERS = ["w0", "w1", "w2", "w3"];
const BATCH = 20;

test("W17, U2: every event acknowledged over HTTP survives every SIGKILL, and page tokens stay valid", async () => {
  await using server = await startServer();
  const client = connect(server.url, { retries: { attemptsMax: 1 } });
  await client.createNamespace("crash");
  const interval = wideInterval();
  const acked = new Map(WRITERS.map((writer) => [writer, 0]));
  let pageToken = "";
  for (let kill = 0; kill < KILLS; kill++) {
    const enough = 3 + ((kill * 7919) % 40);
    const { ended } = await writeUntil(client, acked, enough);
    await server.restart("SIGKILL");
    await ended;
    if (kill === 1) pageToken = await firstToken(client, interval);
  }
  for (const [writer, count] of acked) {
    const numbers: number[] = [];
    const query = { timeSeriesId: writer, ...interval, order: "OLDEST_FIRST" as const };
    for await (const event of client.read("crash", { ...query, pageSize: 1000 })) {
      numbers.push(Number(event.eventId));
    }
    // Events in flight when the server died may be stored or not, but in order and without a gap.
    deepEqual(numbers, [...numbers.keys()]);
    ok(numbers.length >= count, `${writer}: ${numbers.length} of ${count} acknowledged`);
  }
  const query = { timeSeriesId: "w0", ...interval, order: "OLDEST_FIRST" as const, pageSize: 7 };
  for await (const page of client.read("crash", { ...query, pageToken }).pages()) {
    equal(page.events[0]?.eventId, "7", "a token issued before the crash continues after its page");
    break;
  }
});

/**
 * Starts writers that each send batch after batch until one gets no answer. Resolves with their end
 * once the server has acknowledged the given number of batches.
 */
async function writeUntil(
  client: BraidClient,
  acked: Map<string, number>,
  answers: number,
): Promise<{ ended: Promise<unknown> }> {
  let count = 0;
  let reached: () => void = () => undefined;
  const enough = new Promise<void>((resolve) => (reached = resolve));
  const write = async (writer: string): Promise<void> => {
    for (;;) {
      const from = acked.get(writer) ?? 0;
      const events = Array.from({ length: BATCH }, (_, i) => ({
        timeSeriesId: writer,
        // One millisecond apart, so that reads return the events in the order of writing.
        eventTime: new Date(START + from + i).toISOString(),
        eventId: String(from + i),
        eventItems: [{ eventItemKey: "n", eventItemValue: String(from + i) }],
      }));
      const result = await client.writeSync("crash", events, { failures: "return" });
      equal(result.written, BATCH, JSON.stringify(result.failures[0]));
      acked.set(writer, from + BATCH);
      if (++count === answers) reached();
    }
  };
  const ended = Promise.all(
    WRITERS.map((writer) =>
      write(writer).catch((error: unknown) => {
        // The server was killed: it may or may not have stored the last batch.
        ok(error instanceof BraidError && error.outcome === "unknown", String(error));
      }),
    ),
  );
  await enough;
  return { ended };
}

const START = Date.now() - 60_000;

async function firstToken(
  client: BraidClient,
  interval: { start: string; end: string },
): Promise<string> {
  const query = { timeSeriesId: "w0", ...interval, order: "OLDEST_FIRST" as const, pageSize: 7 };
  for await (const page of client.read("crash", query).pages()) return page.nextPageToken;
  return "";
}

function wideInterval(): { start: string; end: string } {
  const day = 86_400_000;
  return {
    start: new Date(START - day).toISOString(),
    end: new Date(START + day).toISOString(),
  };
}
