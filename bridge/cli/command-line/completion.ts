import { settings } from '../../config/setting-table.ts'
import { flagOf, type Setting } from '../../config/setting.ts'
import { clients } from '../../install/client-table.ts'
import { commandName, type CommandInput, type CommandRow, ownFlags } from '../command.ts'
import { CommandFailure, type ExitCode, exitCode } from '../failure/command-failure.ts'

const shells = { bash: bashScript, zsh: zshScript, fish: fishScript } as const

type Rows = readonly CommandRow[]

/** Prints the script of one shell. It contains every word it completes, so it runs no command. */
export async function printCompletion({ line, terminal }: CommandInput, rows: Rows): Promise<ExitCode> {
  const [shell = '', ...more] = line.operands
  if (!Object.hasOwn(shells, shell) || more.length > 0) {
    throw new CommandFailure('Expected a shell: bash, zsh or fish.', 'drawbridge completion bash', {
      exit: exitCode.usage,
    })
  }
  terminal.print(shells[shell as keyof typeof shells](rows))
  return exitCode.ok
}

function firstWords(rows: Rows): string[] {
  return [...new Set(rows.map((row) => commandName(row).split(' ')[0] ?? ''))]
}

const visible = settings.filter(({ secret }) => secret !== true)
const settingFlagNames = visible.flatMap((setting) => [
  flagOf(setting),
  ...(setting.negative ? [setting.negative] : []),
])

function flagsOf(word: string, rows: Rows): string[] {
  const named = rows.filter((row) => commandName(row).split(' ')[0] === word)
  return [...new Set(named.flatMap((row) => ownFlags(row).map((flag) => flag.split(' ')[0] ?? flag)))]
}

/** Words of which one may follow a command: the clients, the second word of `token set`, the shells. */
function wordsAfter(word: string, rows: Rows): string[] {
  if (word === 'completion') return Object.keys(shells)
  if (takesClient(word, rows)) return clients.map(({ id }) => id)
  return rows.flatMap((row) => {
    const [first, second] = commandName(row).split(' ')
    return first === word && second !== undefined ? [second] : []
  })
}

function takesClient(word: string, rows: Rows): boolean {
  return rows.some(({ usage }) => usage.startsWith(`${word} <client>`))
}

const takesFile: readonly string[] = visible.filter(({ value }) => value === 'file').map(flagOf)
const takesFolder: readonly string[] = visible.filter(({ value }) => value === 'folder').map(flagOf)
const withChoices = visible.filter(({ choices }) => choices !== undefined)
/** Flags whose values only the person typing knows. */
function flagsWithFreeValue(rows: Rows): Set<string> {
  const all = [
    ...visible.filter(({ value, choices }) => value !== undefined && choices === undefined).map(flagOf),
    ...rows.flatMap((row) =>
      ownFlags(row).flatMap((flag) => (flag.includes(' ') ? [flag.split(' ')[0] ?? flag] : [])),
    ),
  ]
  return new Set(all.filter((flag) => !takesFile.includes(flag) && !takesFolder.includes(flag)))
}

/** Flags are shown once a dash is typed: there are so many that they would hide the words. */
function bashScript(rows: Rows): string {
  const words = firstWords(rows)
  const commandCases = words.map(
    (word) =>
      `      ${word}) flags="${flagsOf(word, rows).join(' ')}" behind="${wordsAfter(word, rows).join(' ')}" ;;`,
  )
  const valueCases = withChoices.map(
    (setting) => `    ${flagOf(setting)}) words="${(setting.choices ?? []).join(' ')}" ;;`,
  )
  const ofFiles = (flags: readonly string[], kind: string): string =>
    `    ${flags.join('|')}) compopt -o filenames 2>/dev/null; local IFS=$'\\n'; COMPREPLY=($(compgen ${kind} -- "$current")); return ;;`
  return `# bash completion of drawbridge
_drawbridge() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words flags behind word
  local settings="${settingFlagNames.join(' ')} --help"
  # To bash the = of --flag=value is a word.
  if [[ $current == = ]]; then current=
  elif [[ $previous == = ]]; then previous=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  case $previous in
${valueCases.join('\n')}
${ofFiles(takesFile, '-f')}
${ofFiles(takesFolder, '-d')}
    ${[...flagsWithFreeValue(rows)].join('|')}) return ;;
  esac
  if [[ -z $words ]]; then
    case \${COMP_WORDS[1]} in
${commandCases.join('\n')}
      *) flags=--version ;;
    esac
    if [[ $current == -* ]]; then words="$flags $settings"
    elif [[ $COMP_CWORD -eq 1 ]]; then words="${words.join(' ')}"
    else
      words=$behind
      for word in "\${COMP_WORDS[@]:2:$((COMP_CWORD-2))}"; do
        case " $behind " in *" $word "*) words= ;; esac
      done
    fi
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _drawbridge drawbridge`
}

function zshScript(rows: Rows): string {
  return `#compdef drawbridge
autoload -U +X bashcompinit && bashcompinit
${bashScript(rows)}`
}

function fishScript(rows: Rows): string {
  const commands = rows.flatMap((row) => fishCommand(row))
  const flags = visible.flatMap((setting) => {
    const row = `complete -c drawbridge -l ${setting.name}${fishValue(setting)} -d ${fishWord(setting.doc)}`
    return setting.negative === undefined
      ? [row]
      : [row, `complete -c drawbridge -l ${setting.negative.slice(2)} -d ${fishWord(`${setting.doc} (not)`)}`]
  })
  return [
    '# fish completion of drawbridge',
    'complete -c drawbridge -f',
    ...commands,
    ...fishClients(rows),
    "complete -c drawbridge -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'",
    "complete -c drawbridge -l json -d 'Print the facts as one JSON object'",
    ...flags,
  ].join('\n')
}

function fishWord(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`
}

function fishValue({ value, choices }: Setting): string {
  if (choices !== undefined) return ` -x -a ${fishWord(choices.join(' '))}`
  if (value === undefined) return ''
  if (value === 'file') return ' -r -F'
  return value === 'folder' ? " -x -a '(__fish_complete_directories)'" : ' -x'
}

function fishClients(rows: Rows): string[] {
  const commands = firstWords(rows)
    .filter((word) => takesClient(word, rows))
    .join(' ')
  const all = clients.map(({ id }) => id).join(' ')
  const when = `__fish_seen_subcommand_from ${commands}; and not __fish_seen_subcommand_from ${all}`
  return clients.map(
    ({ id, title }) => `complete -c drawbridge -n ${fishWord(when)} -a ${id} -d ${fishWord(title)}`,
  )
}

function fishCommand(row: CommandRow): string[] {
  const [first = '', second] = commandName(row).split(' ')
  const inCommand = `complete -c drawbridge -n '__fish_seen_subcommand_from ${first}'`
  if (second !== undefined) return [`${inCommand} -a ${second} -d ${fishWord(row.description)}`]
  const itself = `complete -c drawbridge -n __fish_use_subcommand -a ${first} -d ${fishWord(row.description)}`
  const switches = Object.entries(row.switches ?? {}).map(([flag, text]) => {
    const [name = flag, value] = flag.split(' ')
    return `${inCommand} -l ${name.slice(2)}${value === undefined ? '' : ' -x'} -d ${fishWord(text)}`
  })
  return [itself].concat(switches)
}
