/** Creates a namespace from numbers. The plan page creates one from a workload. */
import { useSignal } from "@preact/signals";
import { client } from "../../api/client.ts";
import { goTo, useParam } from "../../frame/router.ts";
import { Code } from "../../kit/code.tsx";
import { CopyAs, quoted } from "../../kit/copy-as.tsx";
import { Field, TIME_PATTERN } from "../../kit/field.tsx";
import { PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { changeOf } from "./numbers.ts";

export function Page() {
  const [name, setName] = useParam("name");
  const [slice, setSlice] = useParam("slice", "1d");
  const [bucket, setBucket] = useParam("bucket", "1h");
  const [eventBuckets, setEventBuckets] = useParam("eventBuckets", "1");
  const [closeAfter, setCloseAfter] = useParam("closeAfter", "15d");
  const [deleteAfter, setDeleteAfter] = useParam("deleteAfter", "16d");
  const [acceptLimit, setAcceptLimit] = useParam("acceptLimit", "10m");
  const error = useSignal<unknown>(undefined);
  const busy = useSignal(false);
  const config = changeOf({
    slice,
    bucket,
    eventBuckets,
    closeAfter,
    deleteAfter,
    acceptLimit,
  });
  const create = async (): Promise<void> => {
    busy.value = true;
    error.value = undefined;
    try {
      await client.createNamespace(name, config);
      goTo(`/namespaces/${encodeURIComponent(name)}`);
    } catch (thrown) {
      error.value = thrown;
    } finally {
      busy.value = false;
    }
  };
  const command =
    `ns create ${quoted(name === "" ? "NAME" : name)} --slice ${slice} --bucket ${bucket} ` +
    `--event-buckets ${eventBuckets} --accept-limit ${acceptLimit} --close-after ${closeAfter} --delete-after ${deleteAfter}`;
  return (
    <PageLayout
      title="Create a namespace"
      sentence={
        <>
          Do you know how much is written and read? Then <a href="/plan">plan it from a workload</a>
          : a simulation chooses the numbers below for you.
        </>
      }
      actions={
        <CopyAs
          method="ControlService/CreateNamespace"
          request={{ namespace: name, config }}
          cli={command}
          typescript={`client.createNamespace(${JSON.stringify(name)}, ${JSON.stringify(config)})`}
        />
      }
    >
      <Panel title="Numbers" note="times such as 90s, 15m, 1h or 7d">
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            void create();
          }}
        >
          <Field
            label="Name"
            value={name}
            onInput={setName}
            required
            pattern="[a-z][a-z0-9_]{0,39}"
            help="1 to 40 of a-z, 0-9 and _, beginning with a letter."
          />
          <Field
            label="Time slice"
            value={slice}
            onInput={setSlice}
            required
            pattern={TIME_PATTERN}
            help="Slices are created, closed and dropped as a whole."
          />
          <Field
            label="Time bucket"
            value={bucket}
            onInput={setBucket}
            required
            pattern={TIME_PATTERN}
            help="A partition holds one id over one bucket; it must divide the slice."
          />
          <Field
            label="Event buckets"
            value={eventBuckets}
            onInput={setEventBuckets}
            pattern="\d+"
            help="Partitions of one bucket, chosen by event id. More of them suit very busy ids."
          />
          <Field
            label="Late events accepted for"
            value={acceptLimit}
            onInput={setAcceptLimit}
            required
            pattern={TIME_PATTERN}
            help="Older events are refused. Time before that is sealed and can be split."
          />
          <Field
            label="Close after"
            value={closeAfter}
            onInput={setCloseAfter}
            required
            pattern={TIME_PATTERN}
            help="A closed slice is neither read nor written; it can be opened again."
          />
          <Field
            label="Delete after"
            value={deleteAfter}
            onInput={setDeleteAfter}
            required
            pattern={TIME_PATTERN}
            help="A deleted slice gives its disk space back."
          />
          {error.value !== undefined && <Problem error={error.value} what="Nothing was created" />}
          <div class="ask-buttons">
            <button type="submit" class="button button-main" disabled={busy.value}>
              {busy.value ? "Creating…" : "Create"}
            </button>
          </div>
        </form>
      </Panel>
      <Panel title="The same as a command">
        <Code text={`braid ${command}`} />
      </Panel>
    </PageLayout>
  );
}
