/**
 * `braid advise`: judges ways to split the partitions of any table, on a sample of its rows and its
 * queries. Runs here, without a server.
 */
import type { Command } from "commander";
import type { Advice } from "../advise/advise.ts";
import type { Example } from "../advise/examples/example.ts";
import type { GivenRoles, GuessedRoles } from "../advise/guess-roles.ts";
import type { RowSource, SourceRow } from "../advise/row-source.ts";
import { ADVISE_FLAGS } from "./advise-flags.ts";
import type { AdviseFlags } from "./advise-flags.ts";
import { TABLE_FLAGS } from "./advise-table.ts";
import type { TableDraw, TableFlags } from "./advise-table.ts";
import type { GlobalOptions } from "./connection.ts";
import { UsageError } from "./failures.ts";
import { emit, formatOf } from "./output.ts";
import { count } from "./print.ts";
import { percent, perSecond, Progress } from "./progress.ts";
import type { Terminal } from "./terminal.ts";

export function addAdvise(program: Command, terminal: Terminal): void {
  const advise = program
    .command("advise [file]")
    .description("judge ways to split the wide partitions of any table; needs no server");
  for (const [flags, about] of [...ADVISE_FLAGS, ...TABLE_FLAGS]) advise.option(flags, about);
  advise
    .option(
      "--query <text>",
      "a query: columns it gives; last 7d; newest 100; x5. Can be repeated",
      (text: string, before: readonly string[]) => [...before, text],
      [],
    )
    .addHelpText("after", HELP)
    .action(async (file: string | undefined, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & AdviseFlags & TableFlags>();
      await runAdvise(file, options, terminal);
    });
}

const HELP = `
The file is a sample of the table as NDJSON, CSV or Parquet, - for stdin. More: docs/advise.md

Example:
  $ braid advise views.csv --partition-key video_id --clustering "view_id desc" --time view_id
  $ braid advise views.csv --partition-key video_id --query "video_id; newest 100; x50" --html views.html
  $ braid advise spans.parquet --queries queries.yaml --ttl 2d --gc-grace 3h -o json
  $ braid advise --cassandra shop.views_by_video --budget-bytes 64MB --budget-time 60s
  $ braid advise --example views`;

async function runAdvise(
  file: string | undefined,
  options: GlobalOptions & AdviseFlags & TableFlags,
  terminal: Terminal,
): Promise<void> {
  const signal = terminal.interrupted;
  const progress = new Progress(terminal, options.progress ?? terminal.noteIsTty);
  const { SampleError } = await import("../advise/draw-sample.ts");
  try {
    const example = await exampleOf(file, options);
    if (options.save !== undefined) return await saveExample(example, options.save, terminal);
    const { advice, assumed } = await adviceFor(file, example, { options, terminal, progress });
    progress.clear();
    await report(advice, assumed, options, terminal);
  } catch (error) {
    progress.clear();
    // A stream reports the abort in its own words.
    signal.throwIfAborted();
    if (error instanceof SampleError) throw new UsageError(error.message);
    throw error;
  }
}

interface Run {
  readonly options: AdviseFlags & TableFlags;
  readonly terminal: Terminal;
  readonly progress: Progress;
}

async function adviceFor(
  file: string | undefined,
  example: Example | undefined,
  run: Run,
): Promise<{ readonly advice: Advice; readonly assumed: readonly string[] }> {
  const { options, terminal, progress } = run;
  const flags = await import("./advise-flags.ts");
  const { budgetFrom, drawTable } = await import("./advise-table.ts");
  const { advise } = await import("../advise/advise.ts");
  const { Problems } = await import("../lib/problems.ts");
  const { nextTurn } = await import("../lib/in-steps.ts");
  const problems = new Problems();
  const limits = flags.limitsFrom(options, example?.limits ?? {}, problems);
  const choices = flags.choicesFrom(options, problems);
  const given = flags.rolesFrom(options, problems);
  const asked = await flags.queriesFrom(options, problems);
  const rowsMax = flags.sampleRowsFrom(options, problems);
  const budget = budgetFrom(options, problems);
  refuseIfAny(problems.list());
  const queries = asked.length > 0 ? asked : (example?.queries ?? []);
  const check = (columns: readonly string[]): Promise<void> => checkColumns(queries, columns);
  const { cassandra } = options;
  if (cassandra !== undefined && (file ?? example?.name) !== undefined) {
    throw new UsageError(`leave out one of ${file ?? "--example"} and --cassandra`);
  }
  const drawn: TableDraw =
    cassandra === undefined
      ? await drawFile(file, example, { ...run, given, rowsMax, check })
      : await drawTable(cassandra, { ...run, given, budget, guess, check });
  const { gcGraceMicros } = drawn;
  const known = gcGraceMicros === undefined || options.gcGrace !== undefined;
  const work = advise({
    sample: drawn.sample,
    queries,
    limits: known ? limits : { ...limits, gcGraceMicros },
    choices,
  });
  for (;;) {
    const step = work.next();
    if (step.done === true) return { advice: step.value, assumed: drawn.assumed };
    progress.update(() => `judging: ${step.value}`);
    await nextTurn();
    terminal.interrupted.throwIfAborted();
  }
}

interface FileRun extends Run {
  readonly given: GivenRoles;
  readonly rowsMax: number | undefined;
  readonly check: (columns: readonly string[]) => Promise<void>;
}

async function drawFile(
  file: string | undefined,
  example: Example | undefined,
  { options, terminal, progress, given, rowsMax, check }: FileRun,
): Promise<TableDraw> {
  const { headOf } = await import("../advise/sources/open-source.ts");
  const { drawSample } = await import("../advise/draw-sample.ts");
  const signal = terminal.interrupted;
  const opened = example?.source ?? (await openSource(file, options, terminal));
  const { head, source } = await headOf(opened, signal);
  const { roles, assumed } = await guess(head, {
    table: tableOf(file),
    ...example?.roles,
    ...given,
  });
  await check(Object.keys(roles.types));
  const sample = await drawSample(
    source,
    {
      roles,
      rowsMax,
      progress: ({ bytesRead = 0, bytesTotal }, rows, pass) =>
        progress.update(
          (sinceMs) =>
            `${percent(bytesRead, bytesTotal)}${count(rows)} rows read, ${perSecond(rows, sinceMs)}` +
            (pass === 1 ? "" : ", second pass"),
        ),
    },
    signal,
  );
  return { sample, assumed };
}

async function exampleOf(
  file: string | undefined,
  { example, save }: AdviseFlags,
): Promise<Example | undefined> {
  if (example === undefined) {
    if (save !== undefined)
      throw new UsageError("--save writes the rows of an --example: name one");
    return undefined;
  }
  if (file !== undefined) throw new UsageError(`leave out one of ${file} and --example`);
  const { EXAMPLES } = await import("../advise/examples/table.ts");
  const name = example === true ? "views" : example;
  const found = EXAMPLES.find((each) => each.name === name);
  if (found !== undefined) return found;
  const names = EXAMPLES.map((each) => each.name).join(", ");
  throw new UsageError(`--example ${name}: there is no such example; there are ${names}`);
}

async function openSource(
  file: string | undefined,
  { format }: AdviseFlags,
  terminal: Terminal,
): Promise<RowSource> {
  const { SOURCE_FORMATS, formatOfFile, openFile, openPipe } =
    await import("../advise/sources/open-source.ts");
  if (file === undefined) {
    throw new UsageError(
      "give a file with a sample of the table, or --cassandra keyspace.table; or see --example views",
    );
  }
  const known = SOURCE_FORMATS.find((each) => each === format);
  if (format !== undefined && known === undefined) {
    throw new UsageError(`--format ${format}: give ${SOURCE_FORMATS.join(", ")}`);
  }
  if (file === "-") return openPipe(terminal.input, known ?? "ndjson");
  const found = known ?? formatOfFile(file);
  if (found !== undefined) return openFile(file, found);
  throw new UsageError(`${file}: its name does not tell its format; give --format csv`);
}

async function guess(head: readonly SourceRow[], given: GivenRoles): Promise<GuessedRoles> {
  const { guessRoles } = await import("../advise/guess-roles.ts");
  const { Problems } = await import("../lib/problems.ts");
  if (head.length === 0) throw new UsageError("the sample has no rows");
  const problems = new Problems();
  const guessed = guessRoles(head, given, problems);
  refuseIfAny(problems.list());
  if (guessed === undefined) throw new UsageError("the roles of the columns are unclear");
  return guessed;
}

async function checkColumns(queries: Advice["queries"], columns: readonly string[]): Promise<void> {
  const { checkQueries } = await import("../advise/parse-query.ts");
  const { Problems } = await import("../lib/problems.ts");
  const problems = new Problems();
  checkQueries(queries, columns, problems);
  refuseIfAny(problems.list());
}

function refuseIfAny(problems: readonly string[]): void {
  if (problems.length > 0) throw new UsageError(problems.join("\n  "));
}

/** `views.csv` is the table `views`. */
function tableOf(file: string | undefined): string {
  const name = (file ?? "").replace(/^.*[\\/]/, "").replace(/\..*$/, "");
  const word = name.toLowerCase().replaceAll(/[^a-z0-9_]/g, "_");
  return /^[a-z]/.test(word) ? word.slice(0, 48) : "my_table";
}

async function report(
  advice: Advice,
  assumed: readonly string[],
  options: GlobalOptions & AdviseFlags,
  terminal: Terminal,
): Promise<void> {
  const { braidAnswer } = await import("./advise-braid.ts");
  const { adviceJson, adviceRecords } = await import("../advise/advice-json.ts");
  const { describeAdvice, PLAIN_SIGNS, UNICODE_SIGNS, WORD_SIGNS } =
    await import("./advise-report.ts");
  const said: Advice = {
    ...advice,
    notes: [...assumed.map((text) => `assumed: ${text}`), ...advice.notes],
  };
  const braid = await braidAnswer(said);
  if (options.html !== undefined) await writePage(options.html, said, braid.sentences, terminal);
  const people = allowsUnicode(terminal) ? UNICODE_SIGNS : PLAIN_SIGNS;
  const signs = formatOf(options) === "text" ? WORD_SIGNS : people;
  await emit(terminal, options, {
    value: adviceJson(said, braid.plan),
    records: adviceRecords(said),
    blocks: describeAdvice(said, braid.sentences, signs),
    notes: said.notes,
  });
}

async function writePage(
  path: string,
  advice: Advice,
  braid: readonly string[],
  terminal: Terminal,
): Promise<void> {
  const { writeFile } = await import("node:fs/promises");
  const { advicePage } = await import("../advise/html/page.ts");
  try {
    await writeFile(path, advicePage(advice, braid));
  } catch (error) {
    throw new UsageError(`--html ${path}: ${error instanceof Error ? error.message : ""}`);
  }
  terminal.note(`braid: wrote ${path}; open it in a browser\n`);
}

async function saveExample(
  example: Example | undefined,
  path: string,
  terminal: Terminal,
): Promise<void> {
  const { open } = await import("node:fs/promises");
  if (example === undefined) return;
  let rows = 0;
  await using file = await open(path, "w").catch((error: unknown) => {
    throw new UsageError(`--save ${path}: ${error instanceof Error ? error.message : ""}`);
  });
  for await (const batch of example.source.batches(terminal.interrupted)) {
    await file.write(batch.rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    rows += batch.rows.length;
  }
  terminal.note(`braid: wrote ${count(rows)} rows to ${path}: ${example.about}\n`);
}

/** By the locale, as other programs do. */
function allowsUnicode({ env }: Terminal): boolean {
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  return /utf-?8/i.test(locale);
}
