import { deepEqual, throws } from "node:assert/strict";
import { test } from "node:test";
import { tableNamed } from "./advise-table.ts";

test("a table is named as in CQL, in quotes where it must be", () => {
  deepEqual(tableNamed("shop.Views"), { keyspace: "shop", table: "views" });
  deepEqual(tableNamed('shop."Views"'), { keyspace: "shop", table: "Views" });
  deepEqual(tableNamed('"My Shop"."a.b ""c"""'), { keyspace: "My Shop", table: 'a.b "c"' });
  for (const wrong of ["views", "a.b.c", "shop.", ".views", 'shop."', "shop.my views"]) {
    throws(() => tableNamed(wrong), /give keyspace\.table/);
  }
});
