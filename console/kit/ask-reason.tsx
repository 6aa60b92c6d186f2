/**
 * A button for a change that others will want explained. It asks for the reason, sends the change,
 * and shows what came of it. The reason is recorded with the change.
 */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { operator, OPERATOR_PATTERN } from "../frame/operator.ts";
import { Dialog } from "./dialog.tsx";
import { Problem } from "./problem.tsx";

export function AskReason({
  label,
  title,
  explanation,
  confirm,
  danger = false,
  disabled = false,
  run,
  done,
}: {
  /** On the button that opens the dialog. */
  label: string;
  /** The heading of the dialog: "Roll back 6313825". */
  title: string;
  /** What will happen, and how to undo it. */
  explanation: ComponentChildren;
  /** On the button that does it; the label if not given. */
  confirm?: string;
  danger?: boolean;
  disabled?: boolean;
  /** Sends the change. What it throws is shown in the dialog. */
  run: (reason: string) => Promise<void>;
  /** Called after the dialog has closed: refresh the page. */
  done?: () => void;
}) {
  const open = useSignal(false);
  const reason = useSignal("");
  const error = useSignal<unknown>(undefined);
  const busy = useSignal(false);
  const id = useId();
  const close = (): void => {
    open.value = false;
    error.value = undefined;
  };
  const send = async (): Promise<void> => {
    busy.value = true;
    try {
      await run(reason.value.trim());
      reason.value = "";
      close();
      done?.();
    } catch (thrown) {
      error.value = thrown;
    } finally {
      busy.value = false;
    }
  };
  return (
    <>
      <button
        type="button"
        class={danger ? "button button-danger" : "button"}
        disabled={disabled}
        aria-haspopup="dialog"
        onClick={() => (open.value = true)}
      >
        {label}
      </button>
      <Dialog title={title} open={open.value} onClose={close}>
        <form
          class="ask"
          onSubmit={(event) => {
            event.preventDefault();
            void send();
          }}
        >
          <div>{explanation}</div>
          <label for={id}>Reason, recorded with the change</label>
          <input
            id={id}
            type="text"
            autofocus
            required
            maxLength={1024}
            autocomplete="off"
            value={reason.value}
            onInput={(event) => (reason.value = event.currentTarget.value)}
          />
          <label for={`${id}-name`}>Your name, recorded as claimed</label>
          <input
            id={`${id}-name`}
            type="text"
            placeholder="console"
            pattern={OPERATOR_PATTERN}
            title="Printable ASCII characters, at most 128"
            autocomplete="username"
            value={operator.value}
            onInput={(event) => (operator.value = event.currentTarget.value)}
          />
          {error.value !== undefined && <Problem error={error.value} what="Nothing was changed" />}
          <div class="ask-buttons">
            <button type="button" class="button" onClick={close}>
              Cancel
            </button>
            <button
              type="submit"
              class={danger ? "button button-danger" : "button button-main"}
              disabled={busy.value}
            >
              {busy.value ? "Working…" : (confirm ?? label)}
            </button>
          </div>
        </form>
      </Dialog>
    </>
  );
}
