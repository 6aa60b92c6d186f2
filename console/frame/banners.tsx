/** What an operator must know on every page: the server is away, or something is switched off. */
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { ServerStatus } from "../../client/connect.ts";
import { client } from "../api/client.ts";
import { useQuery } from "../api/use-query.ts";
import { useWatch } from "../api/use-watch.ts";
import { Ago } from "../kit/when.tsx";
import { errorText } from "../kit/problem.tsx";
import { serverStatus } from "./server-status.ts";
import { shown } from "../kit/shown.ts";

const EVERY_MS = 5_000;

export function Banners() {
  const query = useQuery("status", (signal) => client.getStatus({ signal }), { everyMs: EVERY_MS });
  // A change is seen at once; without the watch, at the next question.
  useWatch({ topics: ["STATUS"] }, ({ snapshot, topic }) => {
    if (topic !== undefined && !snapshot) query.refresh();
  });
  useEffect(() => {
    serverStatus.value = query;
  }, [query.data, query.error, query.loading]);
  const { data, error, at } = query;
  return (
    <div class="banners" role="region" aria-label="Warnings">
      <div aria-live="polite">
        {error !== undefined && (
          <Banner tone="bad" title="The server does not answer">
            {errorText(error)}{" "}
            {at !== undefined && (
              <>
                What you see is from <Ago at={at} />.
              </>
            )}{" "}
            The console asks again every {EVERY_MS / 1000} s.
          </Banner>
        )}
        {data !== undefined && <StatusBanners status={data} />}
      </div>
    </div>
  );
}

function StatusBanners({ status }: { status: ServerStatus }) {
  const { killSwitch, paused, clock, disk } = status;
  return (
    <>
      {!status.ready && (
        <Banner tone="bad" title="Not ready">
          {status.notReady}
        </Banner>
      )}
      {killSwitch.on && (
        <Banner tone="warn" title="The kill switch is on">
          Every read uses originals; no split is served.{by(killSwitch.by)}
          {reason(killSwitch.reason)} Switch it off with <code>braid kill-switch off</code>.
        </Banner>
      )}
      {disk.readOnly && (
        <Banner tone="bad" title="Read-only">
          {disk.message}
        </Banner>
      )}
      {clock.inDoubt && (
        <Banner tone="warn" title="The clock is in doubt">
          {clock.message}
        </Banner>
      )}
      {paused.length > 0 && (
        <Banner tone="info" title="Splits are paused">
          {paused
            .slice(0, 5)
            .map(({ namespace }) => namespace)
            .join(", ")}
          {paused.length > 5 && ` and ${paused.length - 5} more`}. Resume with{" "}
          <code>braid splits resume {paused[0]?.namespace}</code>.
        </Banner>
      )}
    </>
  );
}

function by(who: string): string {
  return who === "" ? "" : ` Set by ${shown(who)}.`;
}

function reason(text: string): string {
  return text === "" ? "" : ` Reason: ${shown(text)}.`;
}

function Banner({
  tone,
  title,
  children,
}: {
  tone: "bad" | "warn" | "info";
  title: string;
  children: ComponentChildren;
}) {
  return (
    <p class={`banner banner-${tone}`}>
      <strong>
        <span aria-hidden="true">{tone === "info" ? "❚❚ " : "▲ "}</span>
        {title}.
      </strong>{" "}
      {children}
    </p>
  );
}
