/** `braid completion`: a script for the shell, made from the command tree, so that it cannot fall behind it. */
import { Argument } from "commander";
import type { Command } from "commander";
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
      await terminal.print(SCRIPTS[shell](nodesOf(program, "")));
    });
}

interface Node {
  /** "" for the program itself, " ns create" for a command in it. */
  readonly path: string;
  readonly words: readonly string[];
}

function nodesOf(command: Command, path: string, inherited: readonly string[] = []): Node[] {
  const flags = command.options.flatMap((option) => option.long ?? []);
  const known = [...inherited, ...flags];
  const names = command.commands.map((child) => child.name());
  const here = { path, words: [...names, ...known, "--help"] };
  const below = command.commands.flatMap((child) =>
    nodesOf(child, `${path} ${child.name()}`, known),
  );
  return [here, ...below];
}

/** Finds the deepest command among the words, whose names it is told, then offers that one's words. */
function shellCases(nodes: readonly Node[], indent: string): { commands: string; words: string } {
  const paths = nodes.filter(({ path }) => path !== "").map(({ path }) => `"${path}"`);
  const words = nodes.map(({ path, words }) => `${indent}"${path}") words="${words.join(" ")}" ;;`);
  return { commands: paths.join("|"), words: words.join("\n") };
}

const SCRIPTS: Readonly<Record<"bash" | "zsh" | "fish", (nodes: readonly Node[]) => string>> = {
  bash: (nodes) => {
    const { commands, words } = shellCases(nodes, "    ");
    return `# bash completion for braid
_braid() {
  local path="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path \${COMP_WORDS[i]}" in
      ${commands}) path="$path \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path" in
${words}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _braid braid
`;
  },
  zsh: (nodes) => {
    const { commands, words } = shellCases(nodes, "    ");
    return `#compdef braid
_braid() {
  local at="" words_here="" i
  for ((i = 2; i < CURRENT; i++)); do
    case "$at \${words[i]}" in
      ${commands}) at="$at \${words[i]}" ;;
    esac
  done
  case "$at" in
${words.replaceAll('words="', 'words_here="')}
  esac
  compadd -- \${=words_here}
  _files
}
if [ "$funcstack[1]" = "_braid" ]; then _braid "$@"; else compdef _braid braid; fi
`;
  },
  fish: (nodes) => {
    const paths = nodes.filter(({ path }) => path !== "").map(({ path }) => `'${path}'`);
    const lines = nodes.map(({ path, words }) => {
      const condition = `test (__braid_path) = '${path}'`;
      return `complete -c braid -n "${condition}" -a '${words.join(" ")}'`;
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
${lines.join("\n")}
`;
  },
};
