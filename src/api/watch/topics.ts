/** Where the items of each topic come from: the use cases of the methods that return the same. */
import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import {
  NamespaceSchema,
  TimeSliceSchema,
  WatchRequest_Topic,
} from "../../gen/braid/v1/control_service_pb.js";
import { ReadModeSchema } from "../../gen/braid/v1/read_mode_pb.js";
import { ServerProcessSchema } from "../../gen/braid/v1/servers_pb.js";
import { SplitSchema } from "../../gen/braid/v1/split_pb.js";
import { ServerStatusSchema } from "../../gen/braid/v1/status_pb.js";
import { TuningSchema } from "../../gen/braid/v1/tuning_pb.js";
import { VerificationSchema } from "../../gen/braid/v1/verify_pb.js";
import type { SplitState } from "../../model/split.ts";
import type {
  ReadModeUseCases,
  SplitDetail,
  SplitUseCases,
  VerifyUseCases,
} from "../../splits/use-cases.ts";
import { messageBytes } from "../methods/method.ts";
import { namespaceMessage, sliceMessage } from "../methods/namespaces.ts";
import type { NamespaceUseCases } from "../methods/namespaces.ts";
import { modeMessage } from "../methods/read-mode-methods.ts";
import { serverMessage } from "../methods/servers.ts";
import type { ServersUseCase } from "../methods/servers.ts";
import { splitMessage } from "../methods/split-message.ts";
import { statusMessage } from "../methods/status.ts";
import type { StatusUseCase } from "../methods/status.ts";
import { tuningMessage } from "../methods/tunings.ts";
import type { TuningUseCases } from "../methods/tunings.ts";
import { progressMessage } from "../methods/verify.ts";
import type { WatchedItem } from "./change-list.ts";
import type { FeedOptions, Loaded } from "./feed.ts";

/** The topics whose items are loaded: all but METRICS. */
export const LOADED_TOPICS = [
  "STATUS",
  "NAMESPACES",
  "SPLITS",
  "SLICES",
  "TUNINGS",
  "READ_MODE",
  "VERIFY",
  "SERVERS",
] as const;
export type LoadedTopic = (typeof LOADED_TOPICS)[number];
export type Topic = LoadedTopic | "METRICS";

export const TOPICS: ReadonlyMap<WatchRequest_Topic, Topic> = new Map(
  ([...LOADED_TOPICS, "METRICS"] as const).map((topic) => [WatchRequest_Topic[topic], topic]),
);

/** Topics of one namespace. */
export const NEEDS_NAMESPACE: ReadonlySet<Topic> = new Set<Topic>([
  "SLICES",
  "TUNINGS",
  "READ_MODE",
  "VERIFY",
]);

export interface TopicSources {
  readonly status: Pick<StatusUseCase, "get">;
  readonly namespaces: Pick<NamespaceUseCases, "get" | "list" | "listTimeSlices">;
  readonly splits: Pick<SplitUseCases, "list">;
  readonly tunings: Pick<TuningUseCases, "list">;
  readonly modes: Pick<ReadModeUseCases, "get">;
  readonly verify: Pick<VerifyUseCases, "get">;
  readonly servers: ServersUseCase;
}

/** What the feed of a topic does. The types of the items differ, and only it sees them. */
export type TopicFeed<T> = Pick<FeedOptions<T>, "load" | "fields"> & { readonly everyMs: number };

const NAMESPACES_MAX = 1_000;
const SPLITS_READ_MAX = 2_000;
const SPLITS_MAX = 500;
const PAGE_SIZE = 1_000;
const IN_PROGRESS: ReadonlySet<SplitState> = new Set<SplitState>([
  "DETECTED",
  "PLANNING",
  "PLANNED",
  "SPLITTING",
  "VALIDATING",
]);

interface Scope {
  readonly namespace: string;
  readonly verifyId: string;
}

/** Calls `make` with the feed of the topic. */
export function withTopicFeed<R>(
  topic: LoadedTopic,
  { namespace, verifyId }: Scope,
  sources: TopicSources,
  make: <T>(feed: TopicFeed<T>) => R,
): R {
  const { status, namespaces, splits, tunings, modes, verify, servers } = sources;
  switch (topic) {
    case "STATUS":
      return make({
        everyMs: 5_000,
        load: async () => {
          const message = statusMessage(await status.get());
          const { uptime: _up, serverTime: _now, oldestViewAge: _age, ...lasting } = message;
          const { splitsTime: _counted, clock, disk, ...rest } = lasting;
          const { believedTime: _believed, evenFor: _even, ...doubt } = clock ?? {};
          const { freeBytes: _free, ...space } = disk ?? {};
          const compared = { ...rest, clock: doubt, disk: space };
          return one(ServerStatusSchema, message, compared as typeof message);
        },
        fields: ([only]) => (only === undefined ? {} : { status: only }),
      });
    case "NAMESPACES":
      return make({
        everyMs: 5_000,
        load: async () => {
          if (namespace !== "") {
            return one(NamespaceSchema, namespaceMessage(await namespaces.get(namespace)));
          }
          const page = await namespaces.list({ pageSize: NAMESPACES_MAX });
          const items = page.namespaces.map((each) =>
            itemOf(each.name, NamespaceSchema, namespaceMessage(each)),
          );
          return { items, truncated: page.nextPageToken !== "" };
        },
        fields: (values) => ({ namespaces: [...values] }),
      });
    case "SPLITS":
      return make({
        everyMs: 5_000,
        load: async (signal) => loadSplits(splits, namespace, signal),
        fields: (values) => ({ splits: [...values] }),
      });
    case "SLICES":
      return make({
        everyMs: 5_000,
        load: async () =>
          whole(
            (await namespaces.listTimeSlices(namespace)).map((each) =>
              itemOf(each.name, TimeSliceSchema, sliceMessage(each)),
            ),
          ),
        fields: (values) => ({ slices: [...values] }),
      });
    case "TUNINGS":
      return make({
        everyMs: 10_000,
        load: async () =>
          whole(
            (await tunings.list(namespace)).tunings.map((each) =>
              itemOf(each.id, TuningSchema, tuningMessage(each)),
            ),
          ),
        fields: (values) => ({ tunings: [...values] }),
      });
    case "READ_MODE":
      return make({
        everyMs: 2_000,
        load: async () => one(ReadModeSchema, modeMessage(await modes.get(namespace))),
        fields: ([only]) => (only === undefined ? {} : { readMode: only }),
      });
    case "VERIFY":
      return make({
        everyMs: 1_000,
        load: async () =>
          one(VerificationSchema, progressMessage(await verify.get(namespace, verifyId))),
        fields: ([only]) => (only === undefined ? {} : { verification: only }),
      });
    case "SERVERS":
      return make({
        everyMs: 5_000,
        load: async () =>
          whole(
            (await servers.list()).servers.map((each) => {
              const message = serverMessage(each);
              const { lastSeenTime: _seen, oldestViewAge: _view, ...rest } = message;
              const { oldestFilterAge: _filter, ...compared } = rest;
              return itemOf(each.name, ServerProcessSchema, message, compared as typeof message);
            }),
          ),
        fields: (values) => ({ servers: [...values] }),
      });
  }
}

type SplitMessage = MessageInitShape<typeof SplitSchema>;

/** Those in progress come first, then those that changed last. */
async function loadSplits(
  splits: TopicSources["splits"],
  namespace: string,
  signal: AbortSignal,
): Promise<Loaded<SplitMessage>> {
  const read: SplitDetail[] = [];
  let pageToken = "";
  do {
    const page = await splits.list(namespace, {
      states: undefined,
      pageSize: PAGE_SIZE,
      pageToken,
    });
    read.push(...page.splits);
    ({ nextPageToken: pageToken } = page);
  } while (pageToken !== "" && read.length < SPLITS_READ_MAX && !signal.aborted);
  const kept = read.toSorted((a, b) => rankOf(b) - rankOf(a)).slice(0, SPLITS_MAX);
  return {
    items: kept.map((detail) => {
      const message = splitMessage(detail);
      return itemOf(`${message.namespace}/${message.splitId}`, SplitSchema, message);
    }),
    truncated: pageToken !== "" || kept.length < read.length,
  };
}

function rankOf({ record }: SplitDetail): number {
  const changedAt = record.history.at(-1)?.at ?? 0;
  return IN_PROGRESS.has(record.state) ? changedAt + Number.MAX_SAFE_INTEGER : changedAt;
}

function whole<T>(items: readonly WatchedItem<T>[]): Loaded<T> {
  return { items, truncated: false };
}

/** A topic of one item. */
function one<S extends DescMessage>(
  schema: S,
  value: MessageInitShape<S>,
  compared = value,
): Loaded<MessageInitShape<S>> {
  return whole([itemOf("", schema, value, compared)]);
}

/** `compared`: what counts as a change. */
function itemOf<S extends DescMessage>(
  key: string,
  schema: S,
  value: MessageInitShape<S>,
  compared = value,
): WatchedItem<MessageInitShape<S>> {
  return { key, value, bytes: messageBytes(schema, compared) };
}
