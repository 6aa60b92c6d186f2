/** Shows an advice to people. */
import type { Advice } from "../advise/advise.ts";
import { moveTo } from "../advise/cql.ts";
import type { Verdict } from "../advise/criteria/criterion.ts";
import { callsOf } from "../advise/criteria/over-shrinking.ts";
import { CRITERION_TABLE } from "../advise/criteria/table.ts";
import { factsText } from "../advise/html/page.ts";
import { bytesText, rowsText, short } from "../advise/number-text.ts";
import { whyNot } from "../advise/recommend.ts";
import type { Judged } from "../advise/recommend.ts";
import { line, pairs, table } from "./blocks.ts";
import type { Block } from "./blocks.ts";

/** One sign for each verdict, from good to bad. */
export type Signs = Readonly<Record<Verdict, string>>;

/** One column wide in every font, unlike thumbs. */
export const UNICODE_SIGNS: Signs = { UP: "✓", QUESTION: "?", DOWN: "✗" };
export const PLAIN_SIGNS: Signs = { UP: "+", QUESTION: "?", DOWN: "-" };
/** For other programs. */
export const WORD_SIGNS: Signs = { UP: "UP", QUESTION: "QUESTION", DOWN: "DOWN" };

export function describeAdvice(
  advice: Advice,
  braid: readonly string[],
  signs: Signs,
): readonly Block[] {
  const { judged, recommended, queries, sample, limits } = advice;
  const { strategy } = recommended.measured;
  const move = moveTo(strategy, sample.roles, limits);
  return [
    pairs([
      ["data", factsText(advice)],
      ["limits", `${short(limits.rowsMax)} rows or ${bytesText(limits.bytesMax)} in a partition`],
      ...queries.map(({ name, frequency }, nth): [string, string] => [
        nth === 0 ? "queries" : "",
        `${name}${queries.length > 1 ? ` (x ${short(frequency)})` : ""}`,
      ]),
      ["signs", `${signs.UP} good, ${signs.QUESTION} depends, ${signs.DOWN} bad`],
    ]),
    line(""),
    table(
      [
        "=STRATEGY",
        "=SIZE",
        "=SHRINK",
        "=KEYS",
        "=HOT",
        "=TOMB",
        "=ORDER",
        "=FIND",
        "?>PARTITIONS",
        ">LARGEST",
        ">ASKED",
      ],
      judged.map((each) => row(each, each === recommended, signs)),
    ),
    line(""),
    line(`recommended: ${strategy.name}`),
    ...recommended.judgements.map(({ verdict, why }, at) =>
      line(`  ${signs[verdict]} ${CRITERION_TABLE[at]?.title}: ${why}`),
    ),
    ...advice.runnersUp.map((each) =>
      line(`not ${each.measured.strategy.name}: ${whyNot(each, recommended)}`),
    ),
    line(""),
    ...move.statements.flatMap((statement) => [...statement.split("\n").map(line), line("")]),
    line("steps"),
    ...move.steps.map((step, nth) => line(`  ${nth + 1}. ${step}`)),
    ...(move.transition.length === 0
      ? []
      : [
          line("when a key grows into the next tier"),
          ...move.transition.map((step, nth) => line(`  ${nth + 1}. ${step}`)),
        ]),
    line(""),
    line("with Braid"),
    ...braid.map((sentence) => line(`  ${sentence}`)),
  ];
}

function row({ measured, judgements }: Judged, isBest: boolean, signs: Signs): string[] {
  const { strategy, sizes } = measured;
  return [
    `${isBest ? "* " : "  "}${strategy.name}`,
    ...judgements.map(({ verdict }) => signs[verdict]),
    short(sizes.partitions),
    rowsText(sizes.rows.max),
    short(callsOf(measured).partitions),
  ];
}
