import type { Command } from 'commander';

/** Returns a script that completes commands and options in bash or zsh, made from the commands. */
export function completionScript(program: Command, shell: string): string {
  const name = program.name();
  const cases = program.commands.flatMap((command) => casesOf(command, ''));
  return `${shell === 'zsh' ? 'autoload -U +X compinit bashcompinit && compinit && bashcompinit\n' : ''}_${name}() {
  local path= word words=
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    [[ $word == -* ]] || path="$path $word"
  done
  case "$path" in
    '') words='${namesOf(program)}' ;;
${cases.map(([pattern, words]) => `    ${pattern}) words='${words}' ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${name} ${name}`;
}

function casesOf(command: Command, parent: string): [pattern: string, words: string][] {
  const path = `${parent} ${command.name()}`;
  if (command.commands.length === 0) {
    const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
    const options = command.options.map(({ long }) => long);
    return [[`'${path}' | '${path} '*`, [...choices, ...options, '--help'].join(' ')]];
  }
  return [[`'${path}'`, namesOf(command)], ...command.commands.flatMap((child) => casesOf(child, path))];
}

function namesOf(command: Command): string {
  return command.commands.map((child) => child.name()).join(' ');
}
