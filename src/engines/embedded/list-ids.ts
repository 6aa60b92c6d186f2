/**
 * Lists the ids of a slice's store by seeks: keys begin with the id, so one seek behind all keys of
 * an id finds the next. It reads one entry of each id, which must match its checksum: a damaged key
 * must not show an id that nobody wrote.
 */
import { fromUtf8, isUtf8Range, utf8 } from "../../lib/bytes.ts";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { IdPage, IdSearch } from "../../ports/event-store.ts";
import type { CheckedLevel } from "./checked-level.ts";
import { CHECKSUM_BYTES, partitionPrefixOf, partitionSeed, readValue } from "./key-codec.ts";
import { SteadyIterator } from "./steady-iterator.ts";

/** The store's own keys begin here. */
const EVENTS_END = Buffer.of(0xff);
/** Behind all keys of an id, and of all ids that begin with it: the separator and what follows. */
const BEHIND_KEYS = Buffer.alloc(10, 0xff);

export async function listIds(
  level: CheckedLevel,
  clock: Clock,
  search: IdSearch,
  signal: AbortSignal,
): Promise<IdPage> {
  signal.throwIfAborted();
  const untilMs = clock.monotonicMs() + search.msMax;
  const prefix = Buffer.from(utf8(search.prefix));
  const lt = prefix.length === 0 ? EVENTS_END : Buffer.concat([prefix, BEHIND_KEYS]);
  const ids: string[] = [];
  let from = search.after === undefined ? prefix : behindId(search.after);
  if (from.compare(prefix) < 0) from = prefix;
  for (;;) {
    const id = from.compare(lt) < 0 ? await firstId(level, from, lt, signal) : undefined;
    if (id === undefined) return { ids, ended: true };
    ids.push(id);
    if (ids.length >= search.idsMax || clock.monotonicMs() >= untilMs) return { ids, ended: false };
    from = behindId(id);
  }
}

async function firstId(
  level: CheckedLevel,
  gte: Buffer,
  lt: Buffer,
  signal: AbortSignal,
): Promise<string | undefined> {
  // A search must not push what readers use out of the cache.
  const bounds = { gte, lt, limit: 1, fillCache: false };
  const iterator = new SteadyIterator(level, () => bounds, signal);
  try {
    const [entry] = await iterator.next(1);
    return entry && idOf(entry[0], entry[1]);
  } finally {
    await iterator.close();
  }
}

function idOf(key: Buffer, value: Buffer): string {
  const partition = partitionPrefixOf(key);
  const length = (partition?.length ?? 0) - 9;
  if (partition !== undefined && isUtf8Range(partition, 0, length)) {
    const [timeBucket, eventBucket] = [length + 1, length + 5].map((at) =>
      partition.readUInt32BE(at),
    );
    const seed = partitionSeed(timeBucket ?? 0, eventBucket ?? 0);
    const event = readValue(value, value.subarray(CHECKSUM_BYTES), seed);
    const id = partition.subarray(0, length);
    if (event && id.equals(event.bytes.subarray(event.seriesStart, event.seriesEnd))) {
      return fromUtf8(id);
    }
  }
  throw new ServiceError("DATA_LOSS", "a key of the slice is damaged");
}

function behindId(id: string): Buffer {
  return Buffer.concat([utf8(id), BEHIND_KEYS]);
}
