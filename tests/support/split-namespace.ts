/** A namespace with one wide id that is split, on a real server started with `SOON`. */
import { formatTime } from "../../src/wire/time-text.ts";
import type { BraidClient, NamespaceChange, Split } from "../../client/connect.ts";
import { Ledger } from "../e2e/splits-ledger.ts";
import {
  bucketBefore,
  eventsOver,
  readsAreRight,
  seal,
  shortBuckets,
  untilServable,
} from "../e2e/splits-support.ts";

export { SOON } from "../e2e/splits-support.ts";

const BUCKET_SECONDS = 60;

export interface WideNamespace {
  /** The wide id; `narrow` is another one. */
  readonly id: "wide";
  readonly start: string;
  readonly end: string;
  readonly ledger: Ledger;
  /** In microseconds. */
  readonly bucket: { readonly from: number; readonly to: number };
}

/** Writes a wide and a narrow id and seals their time. No read has noticed the wide one yet. */
export async function makeWide(
  client: BraidClient,
  name: string,
  change: NamespaceChange = {},
): Promise<WideNamespace> {
  const from = bucketBefore(BUCKET_SECONDS, 30);
  const bucket = { from, to: from + BUCKET_SECONDS * 1_000_000 };
  const ledger = new Ledger();
  await client.createNamespace(name, shortBuckets(BUCKET_SECONDS, change));
  const wide = eventsOver(ledger, "wide", bucket.from, bucket.to, { count: 1_500, bytes: 250 });
  const narrow = eventsOver(ledger, "narrow", bucket.from, bucket.to, { count: 30, bytes: 250 });
  await ledger.write(client, name, [...wide, ...narrow]);
  await seal(client, name, bucket.to);
  return {
    id: "wide",
    start: formatTime(bucket.from),
    end: formatTime(bucket.to),
    ledger,
    bucket,
  };
}

/** Reads the wide id, which reports it, and waits until its split can be served. */
export async function splitWide(
  client: BraidClient,
  name: string,
  { ledger, bucket }: WideNamespace,
): Promise<Split> {
  await readsAreRight([client], name, ledger, "wide", bucket);
  return untilServable(client, name, "wide");
}
