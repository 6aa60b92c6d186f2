/** The stored form of splits, parts and routes, checked on reading. */
import { z } from "zod";
import { MOVE_CAUSES } from "../model/move-cause.ts";
import { SPLIT_STATES, SPLIT_STEPS } from "../model/split.ts";
import { SPLIT_LAYOUTS } from "../model/layouts.ts";
import { SPLIT_STRATEGIES } from "../model/strategies/strategies.ts";
import type { PartRecord, RouteRecord, SplitRecord } from "../model/split.ts";
import { distribution } from "./histogram-records.ts";
import { storedObject } from "./stored-json.ts";

const count = z.number().int().nonnegative();
const time = z.number().int();
/** A server of an older version writes none: then the copy counts until time is re-opened. */
const frozenIn = count.default(0);
const state = z.enum(SPLIT_STATES);
const layout = z.enum(SPLIT_LAYOUTS);
const strategy = z.enum(SPLIT_STRATEGIES);
const partRanges = z.array(storedObject({ start: count, count }));

const segment = storedObject({
  from: time,
  to: time,
  epoch: frozenIn,
  state: z.enum(["PLANNED", "SPLITTING", "VALIDATING", "COMPLETED", "FAILED"]),
  generation: count,
  layout,
  strategy,
  why: z.string(),
  partBytes: count,
  partsPlanned: count,
  expected: storedObject({ bytes: count, events: count, exact: z.boolean() }).optional(),
  partRanges,
  copiedTo: time,
  bytes: count,
  events: count,
  checksum: z.string(),
  copyChecksum: z.string().optional(),
  partSizes: distribution.optional(),
  confirmedAt: time.nullable(),
});

const latency = storedObject({
  reads: count,
  meanMs: z.number().nonnegative(),
  maxMs: z.number().nonnegative(),
});

export const splitSchema: z.ZodType<Omit<SplitRecord, "partition" | "version">> = storedObject({
  namespace: z.string(),
  state,
  epoch: count,
  bytes: count,
  events: count,
  immutable: z.boolean(),
  detectedAt: time,
  segments: z.array(segment),
  fence: count,
  owner: storedObject({
    by: z.string(),
    heartbeat: count,
    progress: storedObject({ step: z.enum(SPLIT_STEPS), bytes: count, events: count }).optional(),
  }).nullable(),
  nextPart: count,
  nextGeneration: count,
  failures: count,
  dueAt: time.nullable(),
  heldBy: z.string().nullable(),
  askedBy: z.string().nullable(),
  forced: z.boolean().optional(),
  latency: storedObject({ before: latency, after: latency }),
  history: z.array(
    storedObject({
      at: time,
      by: z.string(),
      from: state.nullable(),
      to: state,
      cause: z.enum(MOVE_CAUSES),
      reason: z.string(),
      times: count,
    }),
  ),
});

export const partSchema: z.ZodType<Omit<PartRecord, "part">> = storedObject({
  from: time,
  to: time,
  bytes: count,
  events: count,
  blocks: count,
  blockBytesMax: count,
  digest: z.string(),
});

export const routeSchema: z.ZodType<Omit<RouteRecord, "partition">> = storedObject({
  of: count,
  segments: z.array(
    storedObject({
      from: time,
      to: time,
      epoch: frozenIn,
      generation: count,
      layout,
      strategy,
      partRanges,
      bytes: count,
      events: count,
      confirmed: z.boolean(),
    }),
  ),
});
