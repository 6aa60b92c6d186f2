import { equal } from "node:assert/strict";
import { test } from "node:test";
import { shown } from "./shown.ts";

test("characters that steer or hide text are shown as escapes", () => {
  equal(
    shown("\u202egnp.exe\u2066x\u0000\n\u200b\ufeff"),
    "\\u{202e}gnp.exe\\u{2066}x\\u{0}\\u{a}\\u{200b}\\u{feff}",
  );
});

test("other text is shown as it is: every script, emoji, and markup", () => {
  const text = `مرحبا 👨‍👩‍👧 <img src=x> a/b?c=d ${"x".repeat(100)}`;
  equal(shown(text), text);
});
