/** The overview: whether the installation is healthy, and what to do next. */
import type { ServerStatus } from "../../../client/connect.ts";
import { serverStatus } from "../../frame/server-status.ts";
import { CopyAs } from "../../kit/copy-as.tsx";
import { AnswerAge, Freshness } from "../../kit/freshness.tsx";
import { Loading } from "../../kit/loading.tsx";
import { Facts, Figure, Figures, PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Bytes, Count, Duration } from "../../kit/quantity.tsx";
import { When } from "../../kit/when.tsx";
import { healthOf } from "./health.ts";

export function Page() {
  const query = serverStatus.value;
  const status = query?.data;
  if (query === undefined || status === undefined) {
    return query?.error === undefined ? (
      <Loading what="the overview" />
    ) : (
      <Problem error={query.error} what="The status could not be read" retry={query.refresh} />
    );
  }
  const health = healthOf(status);
  return (
    <PageLayout
      title="Overview"
      tone={health.tone}
      sentence={health.sentence}
      actions={
        <CopyAs method="ControlService/GetStatus" cli="status" typescript="client.getStatus()" />
      }
    >
      <Splits status={status} />
      <Panel title="This server" note={<AnswerAge query={query} />}>
        <Facts
          facts={[
            ["Process", status.process],
            ["Version", `${status.version} (${status.build}), Node ${status.nodeVersion}`],
            ["Engine and queue", `${status.engine}, ${status.queue}`],
            ["Started", <When time={status.startTime} />],
            ["Uptime", <Duration value={status.uptime} />],
            ["Namespaces", <Count value={status.namespaces} noun="namespace" />],
            [
              "Oldest view",
              <>
                <Duration value={status.oldestViewAge} /> old; refused when older than{" "}
                <Duration value={status.viewMaxAge} />
              </>,
            ],
            ["Free space", <Bytes value={status.disk.freeBytes} />],
          ]}
        />
      </Panel>
    </PageLayout>
  );
}

function Splits({ status }: { status: ServerStatus }) {
  return (
    <Panel
      title="Splits"
      note={<Freshness at={status.splitsTime}>counted once a minute</Freshness>}
    >
      <Figures>
        {status.splits.map(({ state, count }) => (
          <Figure key={state} label={state}>
            <Count value={count} noun="split" />
          </Figure>
        ))}
      </Figures>
    </Panel>
  );
}
