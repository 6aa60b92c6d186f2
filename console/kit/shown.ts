/**
 * Text from outside, such as a time series id: it must not rearrange or hide what is around it.
 * Characters that steer the direction of text, and those that show nothing, are shown as escapes.
 */

/** C0 and C1, marks and overrides of direction, separators of lines, and spaces without width. */
const UNSEEN =
  // oxlint-disable-next-line no-control-regex -- these are what it looks for
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** "\\u{202e}evil": what is not seen can be read. */
export function shown(text: string): string {
  return text.replaceAll(UNSEEN, (each) => `\\u{${(each.codePointAt(0) ?? 0).toString(16)}}`);
}
