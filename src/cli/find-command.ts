/** Finds the command that a command line names, before it runs. */
import type { Command } from "commander";

export interface FoundCommand {
  /** The deepest command that the words name. */
  readonly command: Command;
  /** The word in the position of a command that is not a command. */
  readonly unknownAt: number | undefined;
}

export function findCommand(program: Command, words: readonly string[]): FoundCommand {
  let command = program;
  for (let index = 0; index < words.length && command.commands.length > 0; index++) {
    const word = words[index] ?? "";
    if (word === "--" || word === "help") break;
    if (word.startsWith("-")) {
      if (takesValue(command, word)) index += 1;
      continue;
    }
    const child = command.commands.find((each) => isNamed(each, word));
    if (child === undefined) return { command, unknownAt: index };
    command = child;
  }
  return { command, unknownAt: undefined };
}

function isNamed(command: Command, word: string): boolean {
  return command.name() === word || command.aliases().includes(word);
}

/** `braid ns create`. */
export function fullName(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  return names.join(" ");
}

function takesValue(command: Command, word: string): boolean {
  for (let at: Command | null = command; at !== null; at = at.parent) {
    const option = at.options.find(({ long, short }) => long === word || short === word);
    if (option !== undefined) return option.required;
  }
  return false;
}
