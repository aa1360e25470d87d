import { Argument, type Command } from "commander";
import { act, type Context } from "../command.ts";
import { EXIT } from "../failure.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

/** A command with the words that may follow its name. */
interface Words {
  readonly name: string;
  readonly description: string;
  readonly words: readonly string[];
}

/** `ghouls completion`: what a shell needs to complete this command, made of the program's own commands and options. */
export function addCompletion(program: Command, context: Context): void {
  program
    .command("completion")
    .description("print what lets a shell complete this command: `source <(npx ghouls completion bash)`")
    .addArgument(new Argument("<shell>", "which one").choices(SHELLS))
    .action(
      act(
        context,
        () => ({}),
        (shell: Shell) => {
          context.io.out(SCRIPTS[shell](program.commands.map(wordsOf)));
          return Promise.resolve(EXIT.ok);
        },
      ),
    );
}

function wordsOf(command: Command): Words {
  const options = command.options.flatMap(({ long }) => (long === undefined || long === null ? [] : [long]));
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  const inner = command.commands.map((one) => one.name());
  return {
    name: command.name(),
    description:
      command
        .description()
        .split(/[;:(`]/)[0]
        ?.trim() ?? "",
    words: [...inner, ...choices, ...options, "--help"],
  };
}

const SCRIPTS: Readonly<Record<Shell, (commands: readonly Words[]) => string>> = {
  bash: (commands) => `_ghouls() {
  local word=\${COMP_WORDS[COMP_CWORD]} words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${commands.map(({ name }) => name).join(" ")} --help --version"
  else
    case "\${COMP_WORDS[1]}" in
${commands.map(({ name, words }) => `      ${name}) words="${words.join(" ")}" ;;`).join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _ghouls ghouls
`,
  zsh: (commands) => `#compdef ghouls
_ghouls() {
  if (( CURRENT == 2 )); then
    compadd -- ${commands.map(({ name }) => name).join(" ")}
    return
  fi
  case "$words[2]" in
${commands.map(({ name, words }) => `    ${name}) compadd -- ${words.join(" ")} ;;`).join("\n")}
  esac
}
compdef _ghouls ghouls
`,
  fish: (commands) =>
    commands
      .flatMap(({ name, description, words }) => [
        `complete -c ghouls -n __fish_use_subcommand -a ${name} -d '${description.replaceAll("'", "")}'`,
        `complete -c ghouls -n '__fish_seen_subcommand_from ${name}' -a '${words.join(" ")}'`,
      ])
      .map((line) => `${line}\n`)
      .join(""),
};
