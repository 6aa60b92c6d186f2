/**
 * The columns of a list that is empty: a CSV file has its head even without a row. They come from
 * the API's own description of a record, so they cannot fall behind it.
 */
import type { DescMessage } from "@bufbuild/protobuf";

/** The records of a list, by the list's name in an answer. */
export type ListName = keyof typeof LISTS;

/** Columns of the first list in the answer that has no records; none if there is no such list. */
export async function columnsOf(value: object, list?: ListName): Promise<readonly string[]> {
  const names = list === undefined ? Object.keys(value) : [list];
  const name = names.find((each): each is ListName => Object.hasOwn(LISTS, each));
  if (name === undefined) return [];
  return [...fieldsOf(await LISTS[name](), "")];
}

const control = () => import("../gen/braid/v1/control_service_pb.js");

const LISTS = {
  namespaces: async (): Promise<DescMessage> => (await control()).NamespaceSchema,
  deleted: async (): Promise<DescMessage> => (await control()).DeletedNamespaceSchema,
  slices: async (): Promise<DescMessage> => (await control()).TimeSliceSchema,
  ids: async (): Promise<DescMessage> => (await control()).BlockedIdSchema,
  history: async (): Promise<DescMessage> => (await control()).SliceHistogramSchema,
  buckets: async (): Promise<DescMessage> => (await control()).GetHistogramResponse_BucketSchema,
  partitions: async (): Promise<DescMessage> => (await control()).SizedPartitionSchema,
  cells: async (): Promise<DescMessage> =>
    (await import("../gen/braid/v1/width_map_pb.js")).WidthMap_CellSchema,
  filters: async (): Promise<DescMessage> =>
    (await import("../gen/braid/v1/filters_pb.js")).SliceFilterSchema,
  servers: async (): Promise<DescMessage> =>
    (await import("../gen/braid/v1/servers_pb.js")).ServerProcessSchema,
  tunings: async (): Promise<DescMessage> =>
    (await import("../gen/braid/v1/tuning_pb.js")).TuningSchema,
  remedies: async (): Promise<DescMessage> =>
    (await import("../gen/braid/v1/remedies_pb.js")).RemedySchema,
} as const;

/** Messages that JSON writes as one text. */
const TEXTS: ReadonlySet<string> = new Set([
  "google.protobuf.Timestamp",
  "google.protobuf.Duration",
]);

function* fieldsOf(message: DescMessage, prefix: string): Generator<string> {
  for (const field of message.fields) {
    const path = `${prefix}${field.jsonName}`;
    const nested = field.fieldKind === "message" && !TEXTS.has(field.message.typeName);
    if (nested) yield* fieldsOf(field.message, `${path}.`);
    else yield path;
  }
}
