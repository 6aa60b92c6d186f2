import { deepEqual, rejects } from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { utf8 } from "../../lib/bytes.ts";
import { systemClock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { encodeEvent } from "../../wire/event-record.ts";
import { CheckedLevel } from "./checked-level.ts";
import { placeKey, putEvent } from "./key-codec.ts";
import { LEVEL_OPTIONS } from "./level-options.ts";
import { walkPartitions } from "./walk-partitions.ts";

const WALK = {
  after: undefined,
  partitionsMax: 100,
  bytesMax: 1 << 20,
  msMax: 10_000,
  countBytesMax: 1 << 20,
  counts: () => true,
};
const never = new AbortController().signal;

async function open() {
  const directory = await mkdtemp(join(tmpdir(), "braid-walk-"));
  await CheckedLevel.create(directory, LEVEL_OPTIONS);
  const options = { directory, what: "slice n/data", clock: systemClock, tuning: LEVEL_OPTIONS };
  const level = await CheckedLevel.open(options);
  await level.write(0, (batch) => {
    for (const series of ["a", "b", "c"]) {
      for (const time of [1, 2]) {
        const event = encodeEvent(utf8(series), time, utf8("e"), []);
        putEvent(batch, { event, timeBucket: 0, eventBucket: 0 });
      }
    }
    return 1;
  });
  return {
    level,
    put: (key: Buffer, value: Buffer) =>
      level.write(0, (batch) => {
        batch.put(key, value);
        return 1;
      }),
    async [Symbol.asyncDispose]() {
      await level.close();
      await rm(directory, { recursive: true });
    },
  };
}

async function walked(level: CheckedLevel): Promise<string[]> {
  const { partitions } = await walkPartitions(level, systemClock, WALK, never);
  return partitions.map(({ seriesId, size }) => `${seriesId} ${size.kind}`);
}

test("a damaged partition is listed as damaged, and the walk continues behind it", async () => {
  await using world = await open();
  const partition = { namespaceId: "n", slice: "s", seriesId: "b", timeBucket: 0, eventBucket: 0 };
  await world.put(placeKey(utf8("b"), partition, 2, utf8("e")), Buffer.from("not an event"));
  deepEqual(await walked(world.level), ["a counted", "b damaged", "c counted"]);
});

test("an event under the key of another series is damage", async () => {
  await using world = await open();
  const partition = { namespaceId: "n", slice: "s", seriesId: "b", timeBucket: 0, eventBucket: 0 };
  const [stolen] = await (
    await world.level.iterate({ gte: placeKey(utf8("c"), partition, 0, undefined) })
  ).nextv(1);
  await world.put(placeKey(utf8("b"), partition, 3, utf8("e")), stolen?.[1] ?? Buffer.alloc(0));
  deepEqual(await walked(world.level), ["a counted", "b damaged", "c counted"]);
});

test("a key that is no event's ends the walk with DATA_LOSS", async () => {
  await using world = await open();
  await world.put(Buffer.from("b"), Buffer.from("?"));
  await rejects(
    walked(world.level),
    (error) => error instanceof ServiceError && error.code === "DATA_LOSS",
  );
});
