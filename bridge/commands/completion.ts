import { settings } from '../config/setting-table.ts'
import { flagOf } from '../config/setting.ts'
import type { CommandInput } from './command.ts'
import { CommandFailure } from './command-failure.ts'
import { commandName, type CommandRow, commandTable, ownFlags } from './command-table.ts'
import { type ExitCode, exitCode } from './exit-code.ts'

const shells = { bash: bashScript, zsh: zshScript, fish: fishScript } as const

/** Prints the script of one shell. It asks nothing: all words are in it. */
export async function printCompletion({ line, terminal }: CommandInput): Promise<ExitCode> {
  const [shell = '', ...more] = line.operands
  if (!Object.hasOwn(shells, shell) || more.length > 0) {
    throw new CommandFailure('Expected a shell: bash, zsh or fish.', 'drawbridge completion bash', {
      exit: exitCode.usage,
    })
  }
  terminal.print(shells[shell as keyof typeof shells]())
  return exitCode.ok
}

const firstWords = [...new Set(commandTable.map((row) => commandName(row).split(' ')[0] ?? ''))]
const visible = settings.filter(({ secret }) => secret !== true)
const settingFlagNames = visible.flatMap((setting) => [
  flagOf(setting),
  ...(setting.negative ? [setting.negative] : []),
])

function flagsOf(word: string): string[] {
  const rows = commandTable.filter((row) => commandName(row).split(' ')[0] === word)
  return [...new Set(rows.flatMap((row) => ownFlags(row).map((flag) => flag.split(' ')[0] ?? flag)))]
}

/** Words that may follow a command: the second word of `token set`, and the shells. */
function wordsBehind(word: string): string[] {
  if (word === 'completion') return Object.keys(shells)
  return commandTable.flatMap((row) => {
    const [first, second] = commandName(row).split(' ')
    return first === word && second !== undefined ? [second] : []
  })
}

const takesFile = visible.filter(({ value }) => value === 'file' || value === 'folder').map(flagOf)
const withChoices = visible.filter(({ choices }) => choices !== undefined)

function bashScript(): string {
  const commandCases = firstWords.map((word) => {
    const words = [...wordsBehind(word), ...flagsOf(word)].join(' ')
    return `    ${word}) words="${words} $settings" ;;`
  })
  const valueCases = withChoices.map(
    (setting) => `    ${flagOf(setting)}) words="${(setting.choices ?? []).join(' ')}" ;;`,
  )
  return `# bash completion of drawbridge
_drawbridge() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words
  local settings="${settingFlagNames.join(' ')} --help"
  case $previous in
${valueCases.join('\n')}
    ${takesFile.join('|')}) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  if [[ -z $words ]]; then
    case \${COMP_WORDS[1]} in
${commandCases.map((row) => `  ${row}`).join('\n')}
      *) words="$settings --version" ;;
    esac
    [[ $COMP_CWORD -eq 1 ]] && words="${firstWords.join(' ')} $settings --version"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _drawbridge drawbridge`
}

function zshScript(): string {
  return `#compdef drawbridge
autoload -U +X bashcompinit && bashcompinit
${bashScript()}`
}

function fishScript(): string {
  const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`
  const commands = commandTable.flatMap((row) => fishCommand(row, quote))
  const flags = visible.flatMap((setting) => {
    const choices = setting.choices === undefined ? ' -r' : ` -x -a ${quote(setting.choices.join(' '))}`
    const behind = setting.value === undefined ? '' : choices
    const row = `complete -c drawbridge -l ${setting.name}${behind} -d ${quote(setting.doc)}`
    return setting.negative === undefined
      ? [row]
      : [row, `complete -c drawbridge -l ${setting.negative.slice(2)} -d ${quote(`${setting.doc} (not)`)}`]
  })
  return [
    '# fish completion of drawbridge',
    'complete -c drawbridge -f',
    ...commands,
    "complete -c drawbridge -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'",
    "complete -c drawbridge -l json -d 'Print the facts as one JSON object'",
    ...flags,
  ].join('\n')
}

function fishCommand(row: CommandRow, quote: (text: string) => string): string[] {
  const [first = '', second] = commandName(row).split(' ')
  const inCommand = `complete -c drawbridge -n '__fish_seen_subcommand_from ${first}'`
  if (second !== undefined) return [`${inCommand} -a ${second} -d ${quote(row.description)}`]
  const itself = `complete -c drawbridge -n __fish_use_subcommand -a ${first} -d ${quote(row.description)}`
  const switches = Object.entries(row.switches ?? {}).map(([flag, text]) => {
    const [name = flag, value] = flag.split(' ')
    return `${inCommand} -l ${name.slice(2)}${value === undefined ? '' : ' -r'} -d ${quote(text)}`
  })
  return [itself].concat(switches)
}
