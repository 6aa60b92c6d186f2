/** COPY in binary form over a connection of `pg`, which leaves it to its caller. */
import type { Client, Submittable } from "pg";
import type { BenchEvent } from "../support/events.ts";
import type { Tally } from "./work.ts";

const SIGNATURE = Buffer.from("PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", "latin1");
const TRAILER = Buffer.from([0xff, 0xff]);
const TIME_BYTES = 8;

/** The part of a connection that a query of one's own uses. */
interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** Events as rows of (series, time, event_id, payload). */
export function copyRows(events: readonly BenchEvent[]): Buffer {
  const parts: Buffer[] = [SIGNATURE];
  for (const { series, time, id, payload } of events) {
    const columns = [series.length, TIME_BYTES, id.length, payload.length];
    const row = Buffer.allocUnsafe(columns.reduce((sum, bytes) => sum + 4 + bytes, 2));
    let at = row.writeInt16BE(columns.length, 0);
    at = row.writeInt32BE(series.length, at);
    at += row.write(series, at, "latin1");
    at = row.writeInt32BE(TIME_BYTES, at);
    at = row.writeBigInt64BE(BigInt(time), at);
    at = row.writeInt32BE(id.length, at);
    at += row.write(id, at, "latin1");
    at = row.writeInt32BE(payload.length, at);
    row.set(payload, at);
    parts.push(row);
  }
  parts.push(TRAILER);
  return Buffer.concat(parts);
}

export function copyIn(client: Client, table: string, rows: Buffer): Promise<void> {
  return submit(client, `COPY ${table} FROM STDIN BINARY`, {
    handleCopyInResponse: (connection) => {
      connection.sendCopyFromChunk(rows);
      connection.endCopyFrom();
    },
  });
}

/** Of rows of (time, event_id, payload); each arrives as a message of its own. */
export function copyOut(client: Client, query: string, tally: Tally): Promise<void> {
  let rows = 0;
  return submit(client, `COPY (${query}) TO STDOUT BINARY`, {
    handleCopyData: ({ chunk }) => {
      // The signature precedes the first row, in its message.
      let at = rows++ === 0 ? SIGNATURE.length : 0;
      if (chunk.readInt16BE(at) < 0) return;
      at += 2 + 4;
      const time = chunk.readUInt32BE(at) * 0x1_0000_0000 + chunk.readUInt32BE(at + 4);
      at += TIME_BYTES;
      const idEnd = at + 4 + chunk.readInt32BE(at);
      tally.add(time, chunk.toString("utf8", at + 4, idEnd), chunk.subarray(idEnd + 4));
    },
  });
}

interface CopyHandlers {
  handleCopyInResponse?(connection: CopyConnection): void;
  handleCopyData?(message: { readonly chunk: Buffer }): void;
}

function submit(client: Client, text: string, handlers: CopyHandlers): Promise<void> {
  return new Promise((resolve, reject) => {
    const copy = {
      submit: (connection: CopyConnection) => connection.query(text),
      handleCommandComplete: () => undefined,
      handleReadyForQuery: () => resolve(),
      handleError: (error: Error) => reject(error),
      ...handlers,
    };
    // The types of pg know only the `submit` of such a query, with their own connection.
    client.query(copy as unknown as Submittable);
  });
}
