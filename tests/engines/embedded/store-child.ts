/**
 * A process that holds an embedded engine and runs commands, one a line, so that a test can
 * kill it or take the disk away from under it.
 *
 * `append N` answers `acked N` or `failed N CODE`; `read` answers `read N,N,...` or `failed read
 * CODE`; `flood` appends without end from several writers and answers `acked WRITER N` each time;
 * `spread N` appends number N to each of eight further slices and answers `spread N` when all are
 * done.
 */
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { openEmbeddedEngine } from "../../../src/engines/embedded/index.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { ServiceError } from "../../../src/lib/errors.ts";
import type { EventStore } from "../../../src/ports/event-store.ts";
import { SLICE, WRITERS, eventOf, readNumbers, smallLevel } from "./numbered-events.ts";

const [directory = ""] = process.argv.slice(2);
const engine = await openEmbeddedEngine({ directory, clock: systemClock, level: smallLevel });
await engine.store.createSlice(SLICE);
say("ready");

for await (const line of createInterface({ input: process.stdin })) {
  const [command, argument] = line.split(" ");
  if (command === "append") void append(engine.store, Number(argument));
  else if (command === "read") await read(engine.store);
  else if (command === "flood") flood(engine.store);
  else if (command === "spread") void spread(engine.store, Number(argument));
}
await engine.close();

async function append(store: EventStore, number: number): Promise<void> {
  try {
    await store.append(SLICE, [eventOf("one", number)]);
    say(`acked ${number}`);
  } catch (error) {
    say(`failed ${number} ${codeOf(error)}`);
  }
}

async function read(store: EventStore): Promise<void> {
  try {
    say(`read ${(await readNumbers(store, "one")).join(",")}`);
  } catch (error) {
    say(`failed read ${codeOf(error)}`);
  }
}

async function spread(store: EventStore, number: number): Promise<void> {
  await Promise.all(
    Array.from({ length: 8 }, async (_, nth) => {
      const slice = { ...SLICE, slice: `data_2026040${nth}` };
      await store.createSlice(slice);
      await store.append(slice, [eventOf("one", number)]);
    }),
  );
  say(`spread ${number}`);
}

function flood(store: EventStore): void {
  for (const writer of WRITERS) {
    void (async () => {
      const known = await readNumbers(store, writer);
      for (let number = (known.at(-1) ?? -1) + 1; ; number++) {
        await store.append(SLICE, [eventOf(writer, number)]);
        say(`acked ${writer} ${number}`);
      }
    })();
  }
}

function codeOf(error: unknown): string {
  return error instanceof ServiceError ? error.code : String(error);
}

/** Written at once: what was said before a kill has been said. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}
