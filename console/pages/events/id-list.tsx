/** Ids to choose from. */
import { setParams } from "../../frame/router.ts";

export function IdList({ ids }: { ids: readonly string[] }) {
  return (
    <ul class="id-list">
      {ids.map((id) => (
        <li key={id}>
          <button type="button" class="button button-small" onClick={() => setParams({ id })}>
            {id}
          </button>
        </li>
      ))}
    </ul>
  );
}
