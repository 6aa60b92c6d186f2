/** The view as a command: CLI, curl, grpcurl, TypeScript. */
import { useSignal } from "@preact/signals";
import { serverUrl } from "../api/client.ts";
import { Code } from "./code.tsx";
import { Dialog } from "./dialog.tsx";

export interface CopyAsProps {
  /** "ControlService/ListSplits". */
  readonly method: string;
  /** The request in proto3 JSON. */
  readonly request?: object;
  /** "splits ls plays"; without it the view has no command of its own. */
  readonly cli?: string;
  /** An expression on `client`: 'client.splits.listPage("plays")'. */
  readonly typescript: string;
}

export function CopyAs(props: CopyAsProps) {
  const open = useSignal(false);
  return (
    <>
      <button
        type="button"
        class="button"
        aria-haspopup="dialog"
        onClick={() => (open.value = true)}
      >
        Copy as…
      </button>
      <Dialog title="Copy as" open={open.value} onClose={() => (open.value = false)}>
        <div class="copy-as">
          {waysOf(props).map(([name, text]) => (
            <div key={name}>
              <h3>{name}</h3>
              <Code text={text} label={`Copy ${name}`} />
            </div>
          ))}
        </div>
      </Dialog>
    </>
  );
}

function waysOf({
  method,
  request = {},
  cli,
  typescript,
}: CopyAsProps): [name: string, text: string][] {
  const body = quoted(JSON.stringify(request));
  const host = new URL(serverUrl).host;
  return [
    ...(cli === undefined ? [] : [["CLI", `braid ${cli} --url ${serverUrl}`] as [string, string]]),
    ["curl", `curl --json ${body} ${serverUrl}/braid.v1.${method}`],
    ["grpcurl", `grpcurl -plaintext -d ${body} ${host} braid.v1.${method}`],
    [
      "TypeScript",
      `import { connect } from "braid-client";\nconst client = connect(${JSON.stringify(serverUrl)});\nconsole.log(await ${typescript});`,
    ],
  ];
}

/** In single quotes, for a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
