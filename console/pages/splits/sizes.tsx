/** Sizes before and after splitting, over all data sets. */
import type { SplitSummary } from "../../../client/connect.ts";
import { client } from "../../api/client.ts";
import { useQuery } from "../../api/use-query.ts";
import { bytesText, nounText } from "../../kit/format.ts";
import { Freshness } from "../../kit/freshness.tsx";
import { Histogram } from "../../kit/histogram.tsx";
import { Figure, Figures, Panel } from "../../kit/page.tsx";
import { Bytes } from "../../kit/quantity.tsx";
import { overlaid } from "./distributions.ts";

export function Sizes({ namespace }: { namespace: string }) {
  const query = useQuery(
    `split summary ${namespace}`,
    (signal) => client.splits.summary(namespace, { signal }),
    { everyMs: 30_000 },
  );
  const { data } = query;
  const summary: SplitSummary | undefined =
    namespace === "" ? data?.total : data?.namespaces.find((each) => each.namespace === namespace);
  if (summary === undefined || summary.before.count === "0") return null;
  const { before, after } = summary;
  const drawn = overlaid(before, after);
  return (
    <Panel
      title={namespace === "" ? "Sizes before and after, all namespaces" : "Sizes before and after"}
      note={<Freshness at={data?.countTime}>counted about once a minute</Freshness>}
    >
      <Figures>
        <Figure label="Largest partition before">
          <Bytes value={before.max} />
        </Figure>
        <Figure label="Largest part after">
          <Bytes value={after.max} />
        </Figure>
        <Figure label="Reads may take from splits">
          <Bytes value={summary.divertedBytes} />
        </Figure>
        <Figure label="Extra space of the copies" note="the originals are kept">
          <Bytes value={summary.storageBytes} />
        </Figure>
      </Figures>
      <Histogram
        title="Partitions before, parts after"
        name="sizes"
        buckets={drawn.first}
        overlay={{ label: "Parts after", buckets: drawn.second }}
        label="Partitions before"
        format={bytesText}
        noun="partition"
        summary={
          `${nounText(Number(before.count), "partition")} of up to ${bytesText(Number(before.max))} became ` +
          `${nounText(Number(after.count), "part")} of up to ${bytesText(Number(after.max))}.` +
          (summary.partsEstimated === "0"
            ? ""
            : ` The sizes of ${summary.partsEstimated} parts are estimated.`)
        }
      />
    </Panel>
  );
}
