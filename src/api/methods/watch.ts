/** Watch: a stream of what changes, until the caller leaves. */
import {
  ControlService,
  WatchRequest_Topic,
  WatchRequestSchema,
  WatchResponseSchema,
} from "../../gen/braid/v1/control_service_pb.js";
import type { WatchRequest } from "../../gen/braid/v1/control_service_pb.js";
import { Problems } from "../../lib/problems.ts";
import { CURSOR_CHARACTERS_MAX } from "../watch/cursor.ts";
import { NEEDS_NAMESPACE, TOPICS } from "../watch/topics.ts";
import type { Topic } from "../watch/topics.ts";
import type { WatchMessage, WatchQuery, WatchUseCase } from "../watch/watches.ts";
import { checkSeries } from "./metrics-history.ts";
import { messageAnswer, messageFromBinary, messageFromJson } from "./method.ts";
import type { Answer, StreamMethod, StreamRequest } from "./method.ts";

const REQUEST_BYTES_MAX = 16 * 1024;
const REQUEST_VALUES_MAX = 200;
const VERIFY_ID_CHARACTERS_MAX = 128;

export function watchMethods(watches: WatchUseCase): StreamMethod[] {
  const requestOf = (request: WatchRequest, problems: Problems): StreamRequest => {
    const query = queryOf(request, problems);
    problems.throwIfAny("REQUEST_INVALID");
    return {
      namespace: query.namespace,
      run: (signal) => answers(watches.watch(query, signal)),
    };
  };
  const schema = WatchRequestSchema;
  return [
    {
      kind: "stream",
      desc: ControlService.method.watch,
      changes: false,
      lasting: true,
      requestBytesMax: REQUEST_BYTES_MAX,
      fromBinary: (bytes, _caller, problems = new Problems()) =>
        requestOf(messageFromBinary(schema, bytes, REQUEST_VALUES_MAX, problems), problems),
      fromJson: (body, _caller, problems = new Problems()) =>
        requestOf(messageFromJson(schema, body, REQUEST_VALUES_MAX, problems), problems),
    },
  ];
}

async function* answers(messages: AsyncIterable<WatchMessage>): AsyncGenerator<Answer> {
  for await (const { topic, fields } of messages) {
    const named = topic === undefined ? {} : { topic: WatchRequest_Topic[topic] };
    yield messageAnswer(WatchResponseSchema, { ...fields, ...named });
  }
}

function queryOf(request: WatchRequest, problems: Problems): WatchQuery {
  const { namespace, cursor, verifyId, series } = request;
  const topics = topicsIn(request, problems);
  const ofOne = topics.filter((topic) => NEEDS_NAMESPACE.has(topic));
  if (ofOne.length > 0 && namespace === "") {
    problems.add(`namespace is missing: ${ofOne.join(", ")} can be watched in one`, "namespace");
  }
  if (topics.includes("VERIFY") && verifyId === "") {
    problems.add("verifyId is missing: VERIFY needs it, and StartVerify returns it", "verifyId");
  }
  if (verifyId.length > VERIFY_ID_CHARACTERS_MAX) {
    problems.add("verifyId is not one that StartVerify returns", "verifyId");
  }
  if (cursor.length > CURSOR_CHARACTERS_MAX) {
    problems.add("cursor is not one that Watch returns; leave it out to begin again", "cursor");
  }
  checkSeries(series, problems);
  return { topics, namespace, cursor, verifyId, series };
}

function topicsIn({ topics: given }: WatchRequest, problems: Problems): readonly Topic[] {
  const known = new Set<Topic>();
  for (const each of new Set(given)) {
    const topic = TOPICS.get(each);
    if (topic !== undefined) known.add(topic);
    // Any number can arrive over gRPC.
    else problems.add(`topic ${String(each)} is not known; use ${[...TOPICS.values()].join(", ")}`);
  }
  if (given.length === 0) {
    problems.add(`topics is missing; give some of ${[...TOPICS.values()].join(", ")}`, "topics");
  }
  return [...known];
}
