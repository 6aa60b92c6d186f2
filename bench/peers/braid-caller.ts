/** Braid through the TypeScript client that it ships. */
import { connect } from "../../client/connect.ts";
import type { EventPage, NewEvent } from "../../client/connect.ts";
import { formatTime } from "../../src/wire/time-text.ts";
import type { BenchEvent } from "../support/events.ts";
import { INGEST_NAMESPACE } from "./namespaces.ts";
import type { PeerCaller, Series, Tally } from "./work.ts";

export function braidCaller(port: number): PeerCaller<NewEvent[]> {
  const braid = connect(`http://127.0.0.1:${port}`);
  const queryOf = ({ id, start, end }: Series) =>
    ({
      timeSeriesId: id,
      start: formatTime(start),
      end: formatTime(end),
      order: "OLDEST_FIRST",
    }) as const;
  return {
    batchOf: (events) => events.map(newEvent),
    write: async (batch) => void (await braid.writeSync(INGEST_NAMESPACE, batch)),
    load: async (stored, events) => void (await braid.writeSync(stored, events.map(newEvent))),
    loaded: () => Promise.resolve(),
    stream: async (stored, series, tally) => {
      for await (const page of braid.stream(stored, queryOf(series)).pages()) take(page, tally);
    },
    walk: async (stored, series, { pageEvents, pages }, tally) => {
      let left = pages;
      const query = { ...queryOf(series), pageSize: pageEvents };
      for await (const page of braid.read(stored, query).pages()) {
        take(page, tally);
        if (--left === 0) break;
      }
    },
    page: async (stored, series, { pageEvents }, tally) => {
      const query = { ...queryOf(series), pageSize: pageEvents };
      for await (const page of braid.read(stored, query).pages()) {
        take(page, tally);
        break;
      }
    },
  };
}

function newEvent({ series, time, id, payload }: BenchEvent): NewEvent {
  return { timeSeriesId: series, eventTime: formatTime(time), eventId: id, items: { payload } };
}

function take(page: EventPage, tally: Tally): void {
  for (const event of page.events) {
    const payload = event.get("payload");
    if (payload === undefined) throw new Error(`event ${event.eventId} has no payload`);
    tally.add(event.timeMicros, event.eventId, payload);
  }
}
