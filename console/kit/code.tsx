/** Text to copy: a command, a request. */
import { useSignal } from "@preact/signals";
import { after } from "../api/clock.ts";

export function Code({ text, label = "Copy" }: { text: string; label?: string }) {
  return (
    <div class="code">
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={label} />
    </div>
  );
}

const SHOWN_MS = 1_500;

/** A text that takes long to make is a function, called on the click. */
export function CopyButton({
  text,
  label = "Copy",
}: {
  text: string | (() => string);
  label?: string;
}) {
  const said = useSignal("");
  const copy = async (): Promise<void> => {
    said.value = (await copyText(typeof text === "string" ? text : text()))
      ? "Copied"
      : "Select and copy by hand";
    after(SHOWN_MS, () => (said.value = ""));
  };
  return (
    <button type="button" class="button button-small" onClick={() => void copy()}>
      <span aria-live="polite">{said.value === "" ? label : said.value}</span>
    </button>
  );
}

/** Browsers give the clipboard only to pages of this machine and over TLS; others use the old way. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "visually-hidden";
  // Inside an open dialog, where alone an element can have the focus.
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  return copied;
}
