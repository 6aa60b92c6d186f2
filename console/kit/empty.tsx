/** What a page shows when there is nothing yet: what would be here, and the command that fills it. */
import type { ComponentChildren } from "preact";
import { Code } from "./code.tsx";

export function Empty({
  title,
  command,
  children,
}: {
  title: string;
  command?: string;
  children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <p>{children}</p>}
      {command !== undefined && <Code text={command} />}
    </div>
  );
}
