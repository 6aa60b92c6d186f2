/** Which slice of a namespace a page is about: `slice` in the address. */
import { client } from "../api/client.ts";
import { useQuery } from "../api/use-query.ts";
import { useParam } from "../frame/router.ts";
import { Select } from "./choice.tsx";

const REFRESH_MS = 30_000;

/** Newest first. Without a choice it is the slice that accepts events now. */
export function SliceChoice({ namespace }: { namespace: string }) {
  const [wanted, choose] = useParam("slice");
  const { data: slices = [] } = useQuery(
    `slices ${namespace}`,
    (signal) => client.listTimeSlices(namespace, { signal }),
    { everyMs: REFRESH_MS },
  );
  const known = slices
    .toReversed()
    .map(({ name, status }) => [name, `${name}, ${status.toLowerCase()}`] as const);
  const missing = wanted !== "" && !slices.some(({ name }) => name === wanted);
  return (
    <Select
      label="Slice"
      value={wanted}
      options={[
        ["", "the current slice"],
        ...(missing ? [[wanted, wanted] as const] : []),
        ...known,
      ]}
      onChange={choose}
    />
  );
}
