/** A field of a form: its label, its input, and one line that says what it is for. */
import { useId } from "preact/hooks";

export interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly help?: string;
  readonly required?: boolean;
  /** The whole value must fit it. */
  readonly pattern?: string;
  readonly placeholder?: string;
}

export function Field({ label, value, onInput, help, ...input }: FieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        value={value}
        autocomplete="off"
        {...input}
        {...(help !== undefined && { "aria-describedby": `${id}-help` })}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {help !== undefined && (
        <p id={`${id}-help`} class="field-help">
          {help}
        </p>
      )}
    </div>
  );
}

/** For fields that hold a time such as 90s, 15m, 1h or 7d. */
export const TIME_PATTERN = "\\d{1,9}[smhd]";
