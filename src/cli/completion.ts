/**
 * `braid completion`: a script for the shell, made from the command tree, so that it is always up
 *   to date.
 *
 * The script holds commands, flags, modes, states and formats. It asks the server for namespaces
 * and splits when it needs them: `braid ns ls -o text`.
 */
import { Argument } from "commander";
import type { Command, Option } from "commander";
import { READ_MODES } from "../model/read-mode.ts";
import { SPLIT_STATES } from "../model/split.ts";
import type { Terminal } from "./terminal.ts";

export function addCompletion(program: Command, terminal: Terminal): void {
  program
    .command("completion")
    .description("print a completion script for your shell")
    .addArgument(new Argument("<shell>", "whose script").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      "\nExample:\n  $ source <(braid completion bash)" +
        "\n  $ braid completion zsh > ~/.zsh/completions/_braid" +
        "\n  $ braid completion fish > ~/.config/fish/completions/braid.fish",
    )
    .action(async (shell: "bash" | "zsh" | "fish") => {
      await terminal.print(SCRIPTS[shell](treeOf(program)));
    });
}

interface Tree {
  /** What may follow each command: " ns create" is one, "" is the program itself. */
  readonly words: ReadonlyMap<string, readonly string[]>;
  /** The values of an argument, by its command and position: " modes set 2". */
  readonly places: ReadonlyMap<string, Source>;
  /** The values of a flag. */
  readonly flags: ReadonlyMap<string, Source>;
}

/**
 * Fixed words, values that only the server knows, or files, which shells complete by themselves.
 */
type Source = readonly string[] | "namespaces" | "splits" | "files";

function treeOf(program: Command): Tree {
  const words = new Map<string, readonly string[]>();
  const places = new Map<string, Source>();
  const flags = new Map<string, Source>();
  const visit = (command: Command, path: string, inherited: readonly string[]): void => {
    const known = [...inherited, ...command.options.flatMap((option) => option.long ?? [])];
    words.set(path, [...command.commands.map((child) => child.name()), ...known, "--help"]);
    for (const option of command.options) addFlag(flags, option);
    for (const [nth, argument] of command.registeredArguments.entries()) {
      const source = argument.argChoices ?? ARGUMENTS[argument.name()];
      if (source !== undefined) places.set(`${path} ${nth + 1}`, source);
    }
    for (const child of command.commands) visit(child, `${path} ${child.name()}`, known);
  };
  visit(program, "", []);
  return { words, places, flags };
}

function addFlag(flags: Map<string, Source>, { long, short, argChoices }: Option): void {
  const values = argChoices ?? FLAGS[long ?? ""];
  if (values === undefined) return;
  for (const name of [long, short]) if (typeof name === "string") flags.set(name, values);
}

const ARGUMENTS: Readonly<Record<string, Source>> = {
  namespace: "namespaces",
  split: "splits",
  file: "files",
  mode: READ_MODES,
};

const FLAGS: Readonly<Record<string, Source>> = {
  "--config": "files",
  "--config-file": "files",
  "--data": "files",
  "--state": SPLIT_STATES,
  "--engine": ["embedded", "cassandra"],
  "--queue": ["embedded", "kafka"],
};

/** Errors are hidden: an unreachable server must not disturb the command line. */
const ASK = {
  namespaces: "braid ns ls -o text 2>/dev/null | cut -f1",
  splits: (namespace: string) => `braid splits ls ${namespace} -o text 2>/dev/null | cut -f1`,
};

/** The body of a `case` for bash and zsh: a pattern and what to do. */
function cases(entries: Iterable<readonly [string, string]>): string {
  return [...entries].map(([pattern, action]) => `    "${pattern}") ${action} ;;`).join("\n");
}

function shellSource(source: Source): string {
  if (source === "files") return 'found=""';
  if (source === "namespaces") return `found="$(${ASK.namespaces})"`;
  if (source === "splits") return `found="$(${ASK.splits('"$first"')})"`;
  return `found="${source.join(" ")}"`;
}

/**
 * Shared by bash and zsh: `line` is the array of words, `from` their start, `at` the word to
 * complete.
 */
function findWords({ words, places, flags }: Tree, line: string, from: number, at: string): string {
  const paths = [...words.keys()].filter((path) => path !== "").map((path) => `"${path}"`);
  const valued = [...flags.keys()].join("|");
  // Not named path, which is the search path in zsh.
  return `  local named="" found="" first="" word="" place=1 i
  for ((i = ${from}; i < ${at}; i++)); do
    word="\${${line}[i]}"
    case "$word" in
      ${valued}|--url|--as) i=$((i + 1)); continue ;;
      -*) continue ;;
    esac
    case "$named $word" in
      ${paths.join("|")}) named="$named $word" ;;
      *) [ $place = 1 ] && first="$word"; place=$((place + 1)) ;;
    esac
  done
  case "$named" in
${cases([...words].map(([path, known]) => [path, `found="${known.join(" ")}"`]))}
  esac
  case "\${${line}[${at}]}" in -*) ;; *) case "$named $place" in
${cases([...places].map(([place, source]) => [place, shellSource(source)]))}
  esac ;; esac
  case "\${${line}[$((${at} - 1))]}" in
${cases([...flags].map(([flag, values]) => [flag, shellSource(values)]))}
  esac`;
}

const SCRIPTS: Readonly<Record<"bash" | "zsh" | "fish", (tree: Tree) => string>> = {
  bash: (tree) => `# bash completion for braid
_braid() {
${findWords(tree, "COMP_WORDS", 1, "COMP_CWORD")}
  COMPREPLY=($(compgen -W "$found" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _braid braid
`,
  zsh: (tree) => `#compdef braid
_braid() {
${findWords(tree, "words", 2, "CURRENT")}
  compadd -- \${=found}
  _files
}
if [ "$funcstack[1]" = "_braid" ]; then _braid "$@"; else compdef _braid braid; fi
`,
  fish: ({ words, places, flags }) => {
    const paths = [...words.keys()].filter((path) => path !== "").map((path) => `'${path}'`);
    const rule = (condition: string, found: string): string =>
      `complete -c braid -n "${condition}" -a "${found}"`;
    const values = [...flags].map(([flag, source]) => {
      const name = flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`;
      if (source === "files") return `complete -c braid -r ${name}`;
      return `complete -c braid -x ${name} -a "${fishSource(source)}"`;
    });
    return `# fish completion for braid
function __braid_path
  set -l at ''
  for word in (commandline -opc)[2..-1]
    if contains -- "$at $word" ${paths.join(" ")}
      set at "$at $word"
    end
  end
  echo "'$at'" | string trim -c "'"
end
function __braid_arguments
  set -l at ''
  set -l place 1
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; and continue
    if contains -- "$at $word" ${paths.join(" ")}
      set at "$at $word"
    else
      set place (math $place + 1)
      echo $word
    end
  end
  echo "$at $place"
end
${[...words].map(([path, known]) => rule(`test (__braid_path) = '${path}'`, known.join(" "))).join("\n")}
${[...places].map(([place, source]) => rule(`test (__braid_arguments)[-1] = '${place}'`, fishSource(source))).join("\n")}
${values.join("\n")}
`;
  },
};

function fishSource(source: Source): string {
  if (source === "files") return "";
  if (source === "namespaces") return `(${ASK.namespaces})`;
  if (source === "splits") return `(${ASK.splits("(__braid_arguments)[1]")})`;
  return source.join(" ");
}
