/** One split: where it is, its parts, its checksums, what it gained, and its history. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Split, SplitMove, SplitSegment, Verification } from "../../../client/connect.ts";
import { client } from "../../api/client.ts";
import { useQuery } from "../../api/use-query.ts";
import { useWatch } from "../../api/use-watch.ts";
import { hrefOf, useParam } from "../../frame/router.ts";
import type { PageProps } from "../../frame/routes.ts";
import { timeZone } from "../../frame/time-zone.ts";
import { AskReason } from "../../kit/ask-reason.tsx";
import { Bars } from "../../kit/bars.tsx";
import { ChartFrame } from "../../kit/chart-frame.tsx";
import { CopyAs, quoted } from "../../kit/copy-as.tsx";
import { bytesText, durationText, nounText } from "../../kit/format.ts";
import { AnswerAge } from "../../kit/freshness.tsx";
import { Id } from "../../kit/id.tsx";
import { Loading } from "../../kit/loading.tsx";
import { Facts, PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Progress } from "../../kit/progress.tsx";
import { Bytes, Count } from "../../kit/quantity.tsx";
import { shown } from "../../kit/shown.ts";
import { StateBadge } from "../../kit/state-badge.tsx";
import { timeText, When } from "../../kit/when.tsx";
import { STATE_TONES } from "./board.ts";
import "./splits.css";

/** Parts that are drawn; a segment may have thousands. */
const BARS_MAX = 100;

export function Page({ params: { namespace = "", splitId = "" } }: PageProps) {
  const query = useQuery(
    `split ${namespace} ${splitId}`,
    (signal) => client.splits.get(namespace, { splitId }, { signal }),
    { everyMs: 2_000 },
  );
  const split = query.data;
  return (
    <PageLayout
      title={split === undefined ? "Split" : <Id>{split.preSplitData.timeSeriesId}</Id>}
      tone={split === undefined ? "idle" : STATE_TONES[split.state]}
      sentence={split === undefined ? undefined : sentenceOf(split)}
      actions={
        <CopyAs
          method="ControlService/GetSplit"
          request={{ namespace, splitId }}
          cli={`splits show ${quoted(namespace)} ${splitId}`}
          typescript={`client.splits.get(${JSON.stringify(namespace)}, ${JSON.stringify({ splitId })})`}
        />
      }
    >
      {query.error !== undefined && (
        <Problem error={query.error} what="The split could not be read" retry={query.refresh} />
      )}
      {split === undefined ? (
        query.error === undefined && <Loading what="the split" />
      ) : (
        <>
          <Actions split={split} refresh={query.refresh} />
          <Panel title="Where it is" note={<AnswerAge query={query} />}>
            <Where split={split} />
          </Panel>
          {split.segments.map((segment, index) => (
            <Segment key={segment.from} segment={segment} nth={index + 1} />
          ))}
          <Latency split={split} />
          <Panel title="History" note="oldest first">
            <History moves={split.history} />
          </Panel>
        </>
      )}
    </PageLayout>
  );
}

function sentenceOf({ state, reason, segments, held, heldBy }: Split): string {
  if (held) return `It is held by ${heldBy}: ${reason}. Reads use the original until a retry.`;
  if (state === "COMPLETED") {
    return segments.every(({ confirmed }) => confirmed)
      ? "It is equal to the original and confirmed: reads use it as far as the read mode allows."
      : "It is equal to the original; a second read of the original confirms it soon.";
  }
  return reason === "" ? `Its state is ${state}.` : `${state}: ${reason}.`;
}

function Actions({ split, refresh }: { split: Split; refresh: () => void }) {
  const { namespace, splitId, state, preSplitData, bucketStart, bucketEnd } = split;
  const id = preSplitData.timeSeriesId;
  const target = { splitId };
  const explain = {
    namespace,
    id,
    ...(bucketStart !== undefined &&
      bucketEnd !== undefined && { start: bucketStart, end: bucketEnd }),
  };
  return (
    <div class="chips">
      <AskReason
        label="Roll back…"
        title={`Roll back the split of ${shown(id)}`}
        confirm="Roll back"
        danger
        disabled={state === "INVALIDATED" || state === "REFUSED"}
        explanation="Reads return to the original, everywhere within view_max_age. Nothing is lost: a retry splits it again."
        run={async (reason) => void (await client.splits.rollback(namespace, target, { reason }))}
        done={refresh}
      />
      <AskReason
        label="Retry…"
        title={`Retry the split of ${shown(id)}`}
        confirm="Retry"
        disabled={state === "COMPLETED"}
        explanation="A worker plans it again. Reads use the original until it is completed and confirmed."
        run={async (reason) => void (await client.splits.retry(namespace, target, { reason }))}
        done={refresh}
      />
      <Verify split={split} />
      <a class="button" href={hrefOf("/explain", explain)}>
        Explain a read of it
      </a>
      <a class="button" href={hrefOf("/splits", { namespace })}>
        All splits of {namespace}
      </a>
    </div>
  );
}

/** Compares split and original event by event. The comparison is in the address. */
function Verify({ split: { namespace, splitId, segments } }: { split: Split }) {
  const [verifyId, setVerifyId] = useParam("verify");
  const error = useSignal<unknown>(undefined);
  const start = async (): Promise<void> => {
    error.value = undefined;
    try {
      setVerifyId(await client.splits.startVerify(namespace, { splitId }));
    } catch (thrown) {
      error.value = thrown;
    }
  };
  return (
    <>
      <button
        type="button"
        class="button"
        disabled={segments.length === 0}
        onClick={() => void start()}
      >
        Verify
      </button>
      {error.value !== undefined && <Problem error={error.value} what="Nothing was compared" />}
      {verifyId !== "" && <Verifying key={verifyId} namespace={namespace} verifyId={verifyId} />}
    </>
  );
}

function Verifying({ namespace, verifyId }: { namespace: string; verifyId: string }) {
  const seen = useSignal<Verification | undefined>(undefined);
  const { data, refresh } = useQuery(`verify ${verifyId}`, (signal) =>
    client.splits.getVerify(namespace, verifyId, { signal }),
  );
  useEffect(() => {
    if (data !== undefined) seen.value = data;
  }, [data]);
  const watch = useWatch({ topics: ["VERIFY"], namespace, verifyId }, (change) => {
    if (change.verification !== undefined) seen.value = change.verification;
  });
  const now = seen.value;
  if (now === undefined) {
    return watch.error === undefined ? null : (
      <Problem error={watch.error} what="The comparison could not be read" retry={refresh} />
    );
  }
  const events = nounText(Number(now.eventsCompared), "event");
  return (
    <span class="verifying" role="status">
      {now.state === "RUNNING" ? (
        <>
          <Progress
            value={Number(now.bytesCompared)}
            max={Number(now.bytesTotal ?? 0)}
            label="Bytes compared"
          />{" "}
          {events} compared
        </>
      ) : now.differencesFound !== "0" ? (
        <StateBadge tone="bad">
          {nounText(Number(now.differencesFound), "difference")}: reads use the original
        </StateBadge>
      ) : now.state === "DONE" ? (
        <StateBadge tone="ok">{events} compared, all equal</StateBadge>
      ) : (
        <StateBadge tone="warn">{now.reason}</StateBadge>
      )}
    </span>
  );
}

function Where({ split }: { split: Split }) {
  const { preSplitData, state, owner, attempts, heartbeat, detectTime, dueTime, progress } = split;
  const { timeSlice, timeBucket, eventBucket, bytes, events } = preSplitData;
  return (
    <Facts
      facts={[
        ["State", <StateBadge tone={STATE_TONES[state]}>{state}</StateBadge>],
        ...(progress === undefined
          ? []
          : ([
              [
                `Progress of ${progress.step.toLowerCase()}`,
                <>
                  <Progress
                    value={Number(progress.bytesDone)}
                    max={Number(progress.bytesTotal)}
                    label={progress.step}
                  />{" "}
                  {bytesText(Number(progress.bytesDone))} of{" "}
                  {progress.totalExact ? "" : "at least "}
                  {bytesText(Number(progress.bytesTotal))}
                </>,
              ],
            ] as const)),
        ["Partition", `${timeSlice}, time bucket ${timeBucket}, event bucket ${eventBucket}`],
        [
          "Size before",
          <>
            <Bytes value={bytes} />, <Count value={events} noun="event" />, at least
          </>,
        ],
        ["Detected", <When time={detectTime} />],
        ["Worker", owner === "" ? "none" : `${owner}, heartbeat ${heartbeat}`],
        ["Attempts", attempts],
        ...(dueTime === undefined ? [] : ([["Checked again", <When time={dueTime} />]] as const)),
      ]}
    />
  );
}

function Segment({ segment, nth }: { segment: SplitSegment; nth: number }) {
  const { from, to, state, generation, postSplitData, why, confirmed, originalChecksum } = segment;
  const { layout, strategy, timeSlice, parts, bytes, events, checksum } = postSplitData;
  const equal = originalChecksum !== "" && originalChecksum === checksum;
  return (
    <Panel
      title={`Segment ${nth}`}
      note={
        <>
          <When time={from} /> to <When time={to} />
        </>
      }
    >
      <Facts
        facts={[
          ["State", <StateBadge tone={STATE_TONES[state]}>{state}</StateBadge>],
          ["Why", why],
          ["Layout", `${layout}, ${strategy}, in ${timeSlice}, copy ${generation}`],
          [
            "Copied",
            <>
              <Bytes value={bytes} />, <Count value={events} noun="event" />
            </>,
          ],
          [
            "Checksum of the original",
            <code>{originalChecksum === "" ? "not yet" : originalChecksum}</code>,
          ],
          [
            "Checksum of the parts",
            <>
              <code>{checksum === "" ? "not kept" : checksum}</code>{" "}
              {equal && <StateBadge tone="ok">equal</StateBadge>}
              {checksum !== "" && originalChecksum !== "" && !equal && (
                <StateBadge tone="bad">they differ</StateBadge>
              )}
            </>,
          ],
          [
            "Confirmed by a second read",
            confirmed ? (
              <>
                yes, <When time={segment.confirmTime} />
              </>
            ) : (
              "not yet"
            ),
          ],
        ]}
      />
      {parts.length > 0 && (
        <ChartFrame
          title={`Parts of segment ${nth}`}
          name={`parts-${nth}`}
          summary={
            `${nounText(parts.length, "part")}; a part is closed at ${bytesText(Number(segment.partBytes))}.` +
            (parts.length > BARS_MAX ? ` The first ${BARS_MAX} are drawn; the table has more.` : "")
          }
          table={() => ({
            heads: ["Part", "From", "To", "Bytes", "Events"],
            rows: parts.map((part) => [
              String(part.eventBucket),
              timeText(Date.parse(part.from), timeZone.value),
              timeText(Date.parse(part.to), timeZone.value),
              bytesText(Number(part.bytes)),
              part.events,
            ]),
          })}
        >
          <Bars
            caption={`Sizes of the parts of segment ${nth}`}
            bars={parts.slice(0, BARS_MAX).map((part) => ({
              label: `${part.eventBucket}: from ${timeText(Date.parse(part.from), timeZone.value)}`,
              value: Number(part.bytes),
            }))}
            format={bytesText}
          />
        </ChartFrame>
      )}
    </Panel>
  );
}

function Latency({ split: { latency } }: { split: Split }) {
  const { before, after } = latency;
  if (before.reads === "0" && after.reads === "0") return null;
  return (
    <Panel title="Read latency before and after" note="pages that a worker read to measure them">
      <Bars
        caption="Read latency before and after"
        bars={[
          {
            label: `Original, mean of ${nounText(Number(before.reads), "read")}`,
            value: before.meanMs,
            tone: "warn",
          },
          { label: "Original, slowest", value: before.maxMs, tone: "warn" },
          {
            label: `Split, mean of ${nounText(Number(after.reads), "read")}`,
            value: after.meanMs,
            tone: "ok",
          },
          { label: "Split, slowest", value: after.maxMs, tone: "ok" },
        ]}
        format={durationText}
      />
    </Panel>
  );
}

function History({ moves }: { moves: readonly SplitMove[] }) {
  return (
    <ol class="moves">
      {moves.map((move, index) => (
        <li key={index}>
          <When time={move.at} />
          <span>
            <StateBadge tone={STATE_TONES[move.to]}>{move.to}</StateBadge>{" "}
            {move.times > 1 && `${move.times} times `}by {move.by}
            {move.reason !== "" && <span class="card-where">{shown(move.reason)}</span>}
          </span>
        </li>
      ))}
    </ol>
  );
}
