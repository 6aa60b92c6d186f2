/** Ids that begin with a prefix, page by page. */
import { useSignal } from "@preact/signals";
import { BraidError } from "../../../client/connect.ts";
import type { IdPage } from "../../../client/connect.ts";
import { client } from "../../api/client.ts";
import { useQuery } from "../../api/use-query.ts";
import { useParam } from "../../frame/router.ts";
import { Field } from "../../kit/field.tsx";
import { Loading } from "../../kit/loading.tsx";
import { Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { foundText } from "./found-text.ts";
import { IdList } from "./id-list.tsx";

export function FindByPrefix({ namespace }: { namespace: string }) {
  const [prefix, setPrefix] = useParam("prefix");
  const typed = useSignal(prefix);
  const query = useQuery(JSON.stringify(["ids", namespace, prefix]), (signal) =>
    client.listIds(namespace, { prefix, signal }),
  );
  const { data, error } = query;
  return (
    <Panel title="By prefix" note="in the newest slices">
      {error instanceof BraidError && error.code === "NOT_SUPPORTED" ? (
        <p>
          This engine stores ids by their hash, so they cannot be searched by prefix: take one of
          the widest, or type an id that you know.
        </p>
      ) : (
        <>
          <form
            class="find-ids"
            onSubmit={(event) => {
              event.preventDefault();
              setPrefix(typed.value);
            }}
          >
            <Field
              label="Id begins with"
              value={typed.value}
              onInput={(text) => (typed.value = text)}
              placeholder="profile:"
            />
            <button type="submit" class="button">
              Find
            </button>
          </form>
          {error !== undefined ? (
            <Problem error={error} what="Ids could not be searched" retry={query.refresh} />
          ) : data === undefined ? (
            <Loading what="ids" />
          ) : (
            <Found key={query.at} namespace={namespace} prefix={prefix} first={data} />
          )}
        </>
      )}
    </Panel>
  );
}

function Found({ namespace, prefix, first }: { namespace: string; prefix: string; first: IdPage }) {
  const shown = useSignal(first);
  const busy = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const { timeSeriesIds: ids, nextPageToken: pageToken } = shown.value;
  const more = async (): Promise<void> => {
    busy.value = true;
    error.value = undefined;
    try {
      const next = await client.listIds(namespace, { prefix, pageToken });
      shown.value = { ...next, timeSeriesIds: [...ids, ...next.timeSeriesIds] };
    } catch (thrown) {
      error.value = thrown;
    } finally {
      busy.value = false;
    }
  };
  return (
    <>
      <p role="status">{foundText(shown.value, prefix)}</p>
      <IdList ids={ids} />
      {error.value !== undefined && (
        <Problem error={error.value} what="The search could not continue" />
      )}
      {pageToken !== "" && (
        <button type="button" class="button" disabled={busy.value} onClick={() => void more()}>
          {busy.value ? "Searching…" : "Find more"}
        </button>
      )}
    </>
  );
}
