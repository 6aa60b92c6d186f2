/** A workload as fields and sliders; the simulated plan changes with them. */
import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import type { NamespacePlan, PartitionPlan } from "../../../client/connect.ts";
import { client } from "../../api/client.ts";
import { sleep } from "../../api/clock.ts";
import { useQuery } from "../../api/use-query.ts";
import { goTo, place, setParams, useParam } from "../../frame/router.ts";
import { Select } from "../../kit/choice.tsx";
import { Code } from "../../kit/code.tsx";
import { CopyAs } from "../../kit/copy-as.tsx";
import { DataTable } from "../../kit/data-table.tsx";
import type { Column } from "../../kit/data-table.tsx";
import { Field } from "../../kit/field.tsx";
import { bytesText, countText, figure, nounText, percentText } from "../../kit/format.ts";
import { Loading } from "../../kit/loading.tsx";
import { Facts, Figure, Figures, PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { partitioningText } from "../namespaces/partitioning.ts";
import {
  commandOf,
  ESTIMATES,
  numberIn,
  SKEWS,
  sliderOf,
  valueAt,
  workloadOf,
} from "./workload.ts";
import type { EstimateField, PlanFields, Skew } from "./workload.ts";
import "./plan.css";

/** While a slider moves, only its last place is planned. */
const SETTLE_MS = 300;

export function Page() {
  const fields = fieldsIn(place.value.query);
  const workload = workloadOf(fields);
  const { seed } = fields;
  const query = useQuery(JSON.stringify(["plan", fields]), async (signal) => {
    await sleep(SETTLE_MS, signal);
    if (signal.aborted) return undefined;
    return client.planNamespace(workload, { seed, signal });
  });
  // The plan before stays, and says so, until the next is simulated: nothing jumps under a slider.
  const last = useRef<NamespacePlan>(undefined);
  if (query.data !== undefined) last.current = query.data;
  const plan = query.error === undefined ? (query.data ?? last.current) : undefined;
  const command = commandOf(fields);
  return (
    <PageLayout
      title="Plan"
      sentence={
        plan === undefined
          ? "A simulation chooses slices, buckets and machines for a workload. It creates nothing."
          : sentenceOf(plan)
      }
      actions={
        <CopyAs
          method="ControlService/PlanNamespace"
          request={{ workload, seed }}
          cli={command}
          typescript={`client.planNamespace(${JSON.stringify(workload)}, { seed: ${seed} })`}
        />
      }
    >
      <Workload fields={fields} />
      {query.error !== undefined && (
        <Problem error={query.error} what="This workload cannot be planned" retry={query.refresh} />
      )}
      {plan === undefined ? (
        query.error === undefined && <Loading what="the simulation" />
      ) : (
        <Planned plan={plan} outdated={query.data === undefined} />
      )}
      <Panel title="Create it">
        <Create fields={fields} />
      </Panel>
      <Panel title="The same as a command" note="needs no server">
        <Code text={`braid ${command}`} />
      </Panel>
    </PageLayout>
  );
}

function fieldsIn(query: URLSearchParams): PlanFields {
  const numberOf = (name: string, fallback: number): number =>
    numberIn(query.get(name) ?? "", fallback);
  const values = Object.fromEntries(
    ESTIMATES.map(({ name, fallback }) => [name, numberOf(name, fallback)]),
  ) as PlanFields["values"];
  return {
    values,
    uncertainty: numberOf("uncertainty", 2),
    skew: SKEWS.find((each) => each === query.get("skew")) ?? "LOGNORMAL",
    retentionDays: numberOf("retention", 30),
    seed: Math.round(numberOf("seed", 1)),
  };
}

const SKEW_TEXTS: Readonly<Record<Skew, string>> = {
  EVEN: "all ids alike",
  LOGNORMAL: "some busier (log-normal)",
  ZIPF: "a few very busy (Zipf)",
  PARETO: "extremes (Pareto)",
};

function Workload({
  fields: { values, uncertainty, skew, retentionDays, seed },
}: {
  fields: PlanFields;
}) {
  return (
    <Panel title="Workload" note="what is not given is assumed, and the notes say what">
      <div class="form">
        {ESTIMATES.map((field) => (
          <Estimate key={field.name} field={field} value={values[field.name]} />
        ))}
        <div class="field">
          <Select
            label="How sure are you?"
            value={String(uncertainty)}
            options={[
              ["1", "certain"],
              ["2", "half to twice as much"],
              ["10", "a tenth to ten times as much"],
            ]}
            onChange={(value) => setParams({ uncertainty: value })}
          />
        </div>
        <div class="field">
          <Select
            label="Spread of events over ids"
            value={skew}
            options={SKEWS.map((each) => [each, SKEW_TEXTS[each]])}
            onChange={(value) => setParams({ skew: value })}
          />
        </div>
        <Field
          label="Days that events are kept"
          value={String(retentionDays)}
          onInput={(value) => setParams({ retention: value })}
          pattern="\d{1,5}"
        />
        <Field
          label="Seed"
          value={String(seed)}
          onInput={(value) => setParams({ seed: value })}
          pattern="\d{1,9}"
          help="The same seed simulates the same worlds."
        />
      </div>
    </Panel>
  );
}

function Estimate({ field, value }: { field: EstimateField; value: number }) {
  const id = useId();
  const set = (next: string): void => setParams({ [field.name]: next });
  return (
    <div class="field plan-field">
      <label for={id}>{field.label}</label>
      <input
        id={id}
        type="text"
        inputMode="decimal"
        pattern="[\d.]+"
        autocomplete="off"
        value={String(value)}
        aria-describedby={`${id}-help`}
        onChange={(event) => set(event.currentTarget.value)}
      />
      <input
        type="range"
        min={0}
        max={100}
        aria-label={`${field.label}, slider`}
        aria-valuetext={countText(value)}
        value={sliderOf(value, field)}
        onInput={(event) => set(String(valueAt(Number(event.currentTarget.value), field)))}
      />
      <p id={`${id}-help`} class="field-help">
        {field.help}
      </p>
    </div>
  );
}

function sentenceOf({ chosen, infrastructure, worlds }: NamespacePlan): string {
  const { cassandra, servers, fitsOneMachine } = infrastructure;
  const machines = fitsOneMachine
    ? "one machine with the embedded engine is enough"
    : `${nounText(cassandra.count, "Cassandra node")} and ${nounText(servers.count, "server")} are enough in nine of ten worlds`;
  return `Of ${nounText(worlds, "simulated world")}: ${partitioningText(chosen.timePartition)}; ${machines}.`;
}

type Band = PartitionPlan["p50Bytes"];

function bandText({ low, mid, high }: Band, format: (value: number) => string): string {
  return low === high ? format(mid) : `${format(mid)} (${format(low)} to ${format(high)})`;
}

function Planned({
  plan: { chosen, alternatives, infrastructure, notes, worlds },
  outdated,
}: {
  plan: NamespacePlan;
  /** The workload has changed since. */
  outdated: boolean;
}) {
  const rows: readonly PlanRow[] = [
    { name: "chosen", plan: chosen, whyNot: "" },
    ...alternatives.map(({ name, plan, whyNot }) => ({ name, plan, whyNot })),
  ];
  return (
    <>
      <Panel
        title="What to expect"
        note={
          outdated
            ? "of the workload before: simulating…"
            : `estimated: the median, and from the 5th to the 95th percentile of ${nounText(worlds, "world")}`
        }
      >
        <Figures>
          <Band label="Partitions, p50" of={chosen.p50Bytes} format={bytesText} />
          <Band label="Partitions, p99" of={chosen.p99Bytes} format={bytesText} />
          <Band label="Largest partition" of={chosen.maxBytes} format={bytesText} />
          <Band label="Partitions a read" of={chosen.partitionsPerRead} format={figure} />
          <Band label="Bytes beyond the limit" of={chosen.bytesBeyondLimit} format={percentText} />
          <Band label="Disk at the horizon" of={chosen.diskBytes} format={bytesText} />
        </Figures>
      </Panel>
      <Panel title="Alternatives" note="and why each was not chosen">
        <DataTable
          caption="The chosen partitioning and its alternatives"
          columns={COLUMNS}
          rows={rows}
          rowKey={({ name }) => name}
          noun="partitioning"
          filter={false}
        />
      </Panel>
      <div class="columns">
        <Panel title="Infrastructure" note={`machines as of ${infrastructure.hardwareAsOf}`}>
          <Facts
            facts={[
              ["Cassandra", machinesText(infrastructure.cassandra)],
              ["Servers", machinesText(infrastructure.servers)],
              ["Workers", machinesText(infrastructure.workers)],
              ["Reads at the peak", `${figure(infrastructure.peakReadsPerSecond)}/s`],
              ["Writes at the peak", `${figure(infrastructure.peakWritesPerSecond)}/s`],
              ["Disk, all replicas", bytesText(infrastructure.diskBytes)],
              ["One machine is enough", infrastructure.fitsOneMachine ? "yes" : "no"],
            ]}
          />
        </Panel>
        <Panel title="Notes">
          <ul>
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </Panel>
      </div>
    </>
  );
}

function Band({
  label,
  of,
  format,
}: {
  label: string;
  of: Band;
  format: (value: number) => string;
}) {
  return (
    <Figure
      label={label}
      note={of.low === of.high ? "in all worlds" : `${format(of.low)} to ${format(of.high)}`}
    >
      {format(of.mid)}
    </Figure>
  );
}

function machinesText({
  shape,
  count,
  decidedBy,
}: NamespacePlan["infrastructure"]["cassandra"]): string {
  const { name, cpus, memoryGib, diskGib } = shape;
  const disk = diskGib === 0 ? "" : `, ${countText(diskGib)} GiB disk`;
  return `${count} × ${name} (${nounText(cpus, "CPU")}, ${countText(memoryGib)} GiB memory${disk}), decided by ${decidedBy}`;
}

interface PlanRow {
  readonly name: string;
  readonly plan: PartitionPlan;
  readonly whyNot: string;
}

const COLUMNS: readonly Column<PlanRow>[] = [
  { key: "name", head: "Name", cell: ({ name }) => name, sort: ({ name }) => name },
  {
    key: "partitioning",
    head: "Partitioning",
    cell: ({ plan }) => partitioningText(plan.timePartition),
    sort: ({ plan }) => plan.timePartition.secondsPerTimeBucket,
    text: ({ plan }) => partitioningText(plan.timePartition),
  },
  {
    key: "p99",
    head: "p99 of sizes",
    cell: ({ plan }) => bandText(plan.p99Bytes, bytesText),
    sort: ({ plan }) => plan.p99Bytes.mid,
    align: "end",
  },
  {
    key: "reads",
    head: "Partitions a read",
    cell: ({ plan }) => bandText(plan.partitionsPerRead, figure),
    sort: ({ plan }) => plan.partitionsPerRead.mid,
    align: "end",
  },
  {
    key: "regret",
    head: "Regret, doublings",
    cell: ({ plan }) => figure(plan.regret),
    sort: ({ plan }) => plan.regret,
    align: "end",
  },
  { key: "why", head: "Why not", cell: ({ whyNot }) => whyNot, sort: ({ whyNot }) => whyNot },
];

function Create({ fields }: { fields: PlanFields }) {
  const [name, setName] = useParam("name");
  const error = useSignal<unknown>(undefined);
  const busy = useSignal(false);
  const create = async (): Promise<void> => {
    busy.value = true;
    error.value = undefined;
    try {
      await client.createNamespace(name, {}, { workload: workloadOf(fields) });
      goTo(`/namespaces/${encodeURIComponent(name)}`);
    } catch (thrown) {
      error.value = thrown;
    } finally {
      busy.value = false;
    }
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <Field
        label="Name of the namespace"
        value={name}
        onInput={setName}
        required
        pattern="[a-z][a-z0-9_]{0,39}"
        help="The server plans it from the same workload, with seed 1."
      />
      {error.value !== undefined && <Problem error={error.value} what="Nothing was created" />}
      <div class="ask-buttons">
        <button type="submit" class="button button-main" disabled={busy.value}>
          {busy.value ? "Creating…" : "Create from this workload"}
        </button>
      </div>
    </form>
  );
}
