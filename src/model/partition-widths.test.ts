import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { BUCKET_WIDTHS, isNested, SLICE_WIDTHS, widthBeside } from "./partition-widths.ts";

test("every width divides every wider one, and every slice width is a bucket width", () => {
  for (const [at, wide] of BUCKET_WIDTHS.entries()) {
    for (const narrow of BUCKET_WIDTHS.slice(0, at)) equal(wide % narrow, 0, `${narrow} ${wide}`);
  }
  for (const width of SLICE_WIDTHS) {
    ok(BUCKET_WIDTHS.includes(width), String(width));
    ok(isNested(width));
  }
});

test("widths of the public planner do not nest", () => {
  for (const days of [30, 90, 180]) ok(!isNested(days * 86_400), `${days} d`);
});

test("the width beside another ends at the ladder's ends", () => {
  equal(widthBeside(SLICE_WIDTHS, 86_400, "wider"), 604_800);
  equal(widthBeside(SLICE_WIDTHS, 86_400, "narrower"), 21_600);
  equal(widthBeside(BUCKET_WIDTHS, 10, "narrower"), undefined);
  equal(widthBeside(BUCKET_WIDTHS, 336 * 86_400, "wider"), undefined);
  equal(widthBeside(BUCKET_WIDTHS, 100, "wider"), 300);
});
