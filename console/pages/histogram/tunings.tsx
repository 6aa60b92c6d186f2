/** What the tuner observed, proposed and changed. A proposal is accepted or refused here. */
import type { Tuning, TuningList } from "../../../client/connect.ts";
import { NO_TUNING_TEXTS } from "../../../src/model/no-tuning.ts";
import { client } from "../../api/client.ts";
import { AskReason } from "../../kit/ask-reason.tsx";
import { DataTable } from "../../kit/data-table.tsx";
import type { Column } from "../../kit/data-table.tsx";
import { bytesText, countText, durationText } from "../../kit/format.ts";
import { Facts, Panel } from "../../kit/page.tsx";
import { StateBadge } from "../../kit/state-badge.tsx";
import type { Tone } from "../../kit/state-badge.tsx";
import { When } from "../../kit/when.tsx";

const TONES: Readonly<Record<string, Tone>> = {
  PROPOSED: "warn",
  APPLIED: "busy",
  EFFECTIVE: "ok",
  TAKEN_BACK: "bad",
};

export function Tunings({
  namespace,
  list,
  refresh,
}: {
  namespace: string;
  list: TuningList;
  refresh: () => void;
}) {
  const waiting = list.tunings.find(({ state }) => state === "PROPOSED");
  const reasons: Readonly<Record<string, string>> = NO_TUNING_TEXTS;
  return (
    <Panel title="Tuning" note="changes later slices only: stored events stay as they are">
      {waiting !== undefined ? (
        <Proposal tuning={waiting}>
          <Decide namespace={namespace} tuning={waiting} refresh={refresh} />
        </Proposal>
      ) : list.next !== undefined ? (
        <Proposal tuning={list.next}>
          <p>A dry run: nothing is proposed or changed yet.</p>
        </Proposal>
      ) : (
        <p>Nothing to propose: {reasons[list.nothingWhy] ?? list.nothingWhy}.</p>
      )}
      {list.tunings.length > 0 && (
        <DataTable
          caption={`Tunings of ${namespace}`}
          name="tunings-"
          columns={COLUMNS}
          rows={list.tunings}
          rowKey={({ id }) => id}
          noun="tuning"
          order="-since"
          filter={false}
        />
      )}
    </Panel>
  );
}

function Proposal({ tuning, children }: { tuning: Tuning; children: preact.ComponentChildren }) {
  const { observed, proposed, evidence, dryRun } = tuning;
  const { before, after, keptLongerSeconds, keptLongerBytes } = dryRun;
  const sizes = (name: "p50" | "p95" | "p99"): string =>
    `${bytesText(Number(before[name]))} now, ${bytesText(Number(after[name]))} as proposed`;
  return (
    <>
      <Facts
        facts={[
          ["Observed", observed],
          ["Proposed", proposed],
          ["From the slices", evidence.join(", ")],
          ["p50 of sizes", sizes("p50")],
          ["p95 of sizes", sizes("p95")],
          ["p99 of sizes", sizes("p99")],
          [
            "A read of 24 h touches",
            `${countText(Number(dryRun.partitionsPerDayBefore))} partitions now, ` +
              `${countText(Number(dryRun.partitionsPerDayAfter))} as proposed`,
          ],
          ...(keptLongerSeconds === "0"
            ? []
            : [
                [
                  "Events are kept longer by",
                  `up to ${durationText(Number(keptLongerSeconds) * 1_000)}, about ${bytesText(Number(keptLongerBytes))}`,
                ] as const,
              ]),
        ]}
      />
      {children}
    </>
  );
}

function Decide({
  namespace,
  tuning: { id, proposed },
  refresh,
}: {
  namespace: string;
  tuning: Tuning;
  refresh: () => void;
}) {
  const decide = async (accept: boolean, reason: string): Promise<void> => {
    await client.decideTuning(namespace, id, { accept, reason });
  };
  return (
    <div class="ask-buttons">
      <AskReason
        label="Refuse…"
        confirm="Refuse"
        title="Refuse the proposal"
        explanation="Slices stay as they are. The tuner does not propose the same again."
        run={(reason) => decide(false, reason)}
        done={refresh}
      />
      <AskReason
        label="Accept…"
        confirm="Accept"
        title="Accept the proposal"
        explanation={`${proposed}, for slices that begin later. The effect is measured, and taken back if it is worse.`}
        run={(reason) => decide(true, reason)}
        done={refresh}
      />
    </div>
  );
}

const COLUMNS: readonly Column<Tuning>[] = [
  {
    key: "state",
    head: "State",
    cell: ({ state }) => <StateBadge tone={TONES[state] ?? "idle"}>{state}</StateBadge>,
    sort: ({ state }) => state,
  },
  {
    key: "since",
    head: "Since",
    cell: ({ history }) => <When time={history.at(-1)?.at} />,
    sort: ({ history }) => history.at(-1)?.at,
  },
  {
    key: "by",
    head: "By",
    cell: ({ history }) => history.at(-1)?.by ?? "",
    sort: ({ history }) => history.at(-1)?.by,
  },
  { key: "why", head: "Why", cell: ({ why }) => why, sort: ({ why }) => why, align: "wrap" },
  {
    key: "proposed",
    head: "Proposed",
    cell: ({ proposed }) => proposed,
    sort: ({ proposed }) => proposed,
    align: "wrap",
  },
  {
    key: "p99",
    head: "p99: before, promised, got",
    cell: ({ dryRun, got }) =>
      [dryRun.before.p99, dryRun.after.p99, got?.p99]
        .map((bytes) => (bytes === undefined ? "not yet" : bytesText(Number(bytes))))
        .join(", "),
    sort: ({ dryRun }) => Number(dryRun.after.p99),
  },
  {
    key: "from",
    head: "First slice begins",
    cell: ({ effectiveFrom }) => <When time={effectiveFrom} />,
    sort: ({ effectiveFrom }) => effectiveFrom,
  },
];
