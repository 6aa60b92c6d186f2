/** The numbers of splits as GetSplitSummary shows them. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  GetSplitSummaryResponseSchema,
  SplitSummarySchema,
} from "../../gen/braid/v1/control_service_pb.js";
import { Split_State } from "../../gen/braid/v1/split_pb.js";
import type { SplitSummary } from "../../model/split-summary.ts";
import type { SplitSummaryPage } from "../../splits/use-cases.ts";
import { distributionMessage } from "./histogram.ts";
import { timeOfMicros } from "./times.ts";

export function summaryMessage({
  total,
  namespaces,
  nextPageToken,
}: SplitSummaryPage): MessageInitShape<typeof GetSplitSummaryResponseSchema> {
  return {
    ...(total && { total: sumMessage("", total), countTime: timeOfMicros(total.countedAt) }),
    namespaces: namespaces.map((summary) => sumMessage(summary.namespace, summary)),
    nextPageToken,
  };
}

function sumMessage(
  namespace: string,
  summary: SplitSummary,
): MessageInitShape<typeof SplitSummarySchema> {
  return {
    namespace,
    states: [...summary.states].map(([state, count]) => {
      return { state: Split_State[state], count: BigInt(count) };
    }),
    before: distributionMessage(summary.before),
    after: distributionMessage(summary.after),
    partsEstimated: BigInt(summary.partsEstimated),
    divertedBytes: BigInt(summary.divertedBytes),
    storageBytes: BigInt(summary.storageBytes),
    unreadable: BigInt(summary.unreadable),
  };
}
