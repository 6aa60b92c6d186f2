/** A price: finding one row by its primary key, if nothing tells its partition. */
import { primaryKey } from "../roles.ts";
import { shortQuantity } from "../number-text.ts";
import { verdictOf } from "./criterion.ts";
import type { Criterion } from "./criterion.ts";

const PARTITIONS_QUESTION = 10;

export const findOne: Criterion = {
  name: "FIND_ONE",
  title: "find one",
  isPrice: true,
  judge({ find: { partitions } }, { roles }) {
    const key = primaryKey(roles).join(", ");
    const why = `finding the row of a ${key} asks ${shortQuantity(partitions, "partition")}`;
    return { verdict: verdictOf(partitions, 1, PARTITIONS_QUESTION), number: partitions, why };
  },
};
