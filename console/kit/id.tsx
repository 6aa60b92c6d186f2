/** A time series id, isolated: text of another direction does not move what is beside it. */
import { shown } from "./shown.ts";

export function Id({ children: id }: { children: string }) {
  return <bdi>{shown(id)}</bdi>;
}
