/** What is wrong with the partitions of a namespace, and the remedy for each. */
import type { ComponentChildren } from "preact";
import type { Remedy } from "../../../client/connect.ts";
import { client } from "../../api/client.ts";
import { useQuery } from "../../api/use-query.ts";
import { hrefOf } from "../../frame/router.ts";
import { Code } from "../../kit/code.tsx";
import { CopyAs, quoted } from "../../kit/copy-as.tsx";
import { nounText } from "../../kit/format.ts";
import { AnswerAge } from "../../kit/freshness.tsx";
import { Loading } from "../../kit/loading.tsx";
import { WithNamespace } from "../../kit/namespace-choice.tsx";
import { PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { StateBadge } from "../../kit/state-badge.tsx";

export function Page() {
  return (
    <WithNamespace title="Doctor">
      {(namespace, choice) => <Doctor namespace={namespace} choice={choice} />}
    </WithNamespace>
  );
}

/** The page where an operator can act on a remedy. */
const PAGES: Readonly<Partial<Record<Remedy["remedy"], readonly [path: string, text: string]>>> = {
  BLOCK: ["/blocked", "Block an id"],
  RETUNE: ["/histogram", "See sizes and proposals"],
  SPLIT: ["/splits", "See the splits"],
};

function Doctor({ namespace, choice }: { namespace: string; choice: ComponentChildren }) {
  const query = useQuery(
    `remedies ${namespace}`,
    (signal) => client.getRemedies(namespace, { signal }),
    { everyMs: 15_000 },
  );
  const remedies = query.data;
  const needed = remedies?.filter(({ remedy }) => remedy !== "NOTHING") ?? [];
  return (
    <PageLayout
      title="Doctor"
      tone={remedies === undefined ? "idle" : needed.length === 0 ? "ok" : "warn"}
      sentence={
        remedies === undefined
          ? undefined
          : needed.length === 0
            ? `Nothing needs to be done for ${namespace}.`
            : `${nounText(needed.length, "remedy", "remedies")} for ${namespace}: begin with the first.`
      }
      actions={
        <>
          {choice}
          <CopyAs
            method="ControlService/GetRemedies"
            request={{ namespace }}
            cli={`doctor ${quoted(namespace)}`}
            typescript={`client.getRemedies(${JSON.stringify(namespace)})`}
          />
        </>
      }
    >
      {query.error !== undefined && (
        <Problem error={query.error} what="The remedies could not be read" retry={query.refresh} />
      )}
      {remedies === undefined
        ? query.error === undefined && <Loading what="the remedies" />
        : remedies.map((remedy, index) => (
            <Found
              key={index}
              namespace={namespace}
              remedy={remedy}
              note={index === 0 ? <AnswerAge query={query} /> : undefined}
            />
          ))}
    </PageLayout>
  );
}

function Found({
  namespace,
  remedy: { problem, remedy, why, command },
  note,
}: {
  namespace: string;
  remedy: Remedy;
  note: ComponentChildren;
}) {
  const page = PAGES[remedy];
  return (
    <Panel
      title={`${problem.charAt(0).toUpperCase()}${problem.slice(1)}`}
      note={note}
      actions={
        page !== undefined && (
          <a class="button" href={hrefOf(page[0], { namespace })}>
            {page[1]}
          </a>
        )
      }
    >
      <p>
        <StateBadge tone={remedy === "NOTHING" ? "ok" : "warn"}>{remedy}</StateBadge> {why}
      </p>
      {command !== "" && <Code text={command} label={`Copy the command for ${remedy}`} />}
    </Panel>
  );
}
