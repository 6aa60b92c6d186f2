/** Ids to choose from. */
import { setParams } from "../../frame/router.ts";
import { Id } from "../../kit/id.tsx";

export function IdList({ ids }: { ids: readonly string[] }) {
  return (
    <ul class="id-list">
      {ids.map((id) => (
        <li key={id}>
          <button type="button" class="button button-small" onClick={() => setParams({ id })}>
            <Id>{id}</Id>
          </button>
        </li>
      ))}
    </ul>
  );
}
