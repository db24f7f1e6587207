import { fileFields } from '../../config/setting-file.ts'
import { flagValues, type Operation, parseInput } from '../../core/operator/operation.ts'
import { operations } from '../../core/operator/operations.ts'
import {
  type CommandInput,
  type CommandOptions,
  type CommandRow,
  type ExitCode,
  exitCode,
  readConfig,
} from '../command.ts'
import { printFacts } from '../terminal.ts'
import { testAccessOperation } from './access-test.ts'
import { addClientOperation } from './clients-add.ts'
import { type CommandPorts, openPorts } from './command-ports.ts'

export type CommandOperation = Operation<CommandPorts> & Required<Pick<Operation<CommandPorts>, 'command'>>

/** All operations that are commands, in the order of the help. */
export const commandOperations: readonly CommandOperation[] = [
  ...operations,
  addClientOperation,
  testAccessOperation,
].filter((operation): operation is CommandOperation => operation.command !== undefined)

const followEveryMs = 1000

const arrayHelp = 'print one JSON array on stdout'
const followHelp = '; with --follow one object a line'

/** The commands of all operations. */
export const operationCommands: readonly CommandRow[] = commandOperations.map((operation) => {
  const { command, summary, input, result } = operation
  const { usage, examples, settings, operand, followKey } = command
  const flags = Object.keys(input.shape).filter((name) => name !== operand)
  return {
    usage,
    description: summary,
    json: result.def.type === 'array' ? arrayHelp + (followKey ? followHelp : '') : undefined,
    examples,
    switches: Object.fromEntries([
      ...flags.map((name) => flagRow(name, input)),
      ...(followKey ? [['--follow', 'print each once it is decided, until interrupted']] : []),
    ]) as Record<`--${string}`, string>,
    shown: settings.filter((field) => field !== 'secretKeys'),
    run: (given, operands, options) => runOperation(operation, given, operands, options),
  }
})

function flagRow(name: string, { shape }: Operation['input']): [flags: string, text: string] {
  const schema = shape[name] as Parameters<typeof flagValues.get>[0]
  return [`${flagOf(name)} ${flagValues.get(schema)?.value ?? ''}`.trim(), shape[name]?.description ?? '']
}

function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/**
 * Runs an operation and prints its result. `isStopped` replaces the first SIGINT, which ends operations in order that can. Throws
 * `ConfigError`, {@link OperatorRefusal}, and what the store throws.
 *
 * @internal
 */
export async function runOperation(
  { command, input, handle }: CommandOperation,
  given: CommandInput,
  operands: readonly string[],
  options: CommandOptions,
  isStopped: () => boolean = command.stops ? interruption() : () => false,
): Promise<ExitCode> {
  const config = readConfig(
    given,
    // Reading the audit file does not need the right to write it.
    fileFields.filter(
      (field) => field !== 'audit' && (command.settings as readonly string[]).includes(field),
    ),
  )
  const nameOf = (member: string): string => (member === command.operand ? command.usage : flagOf(member))
  const parsed = parseInput(input, inputOf({ command, input }, operands, options), nameOf)
  const ports = openPorts(config, given, isStopped)
  try {
    const facts = await handle(parsed, ports)
    if (options.follow) {
      await follow(command, facts as object[], given, { read: () => handle(parsed, ports), isStopped })
      return exitCode.ok
    }
    return print(command, given, facts, parsed)
  } finally {
    await ports.close()
  }
}

/** Prints a result. One that says that it is not ok is a failure. */
function print(
  { text, notes }: CommandOperation['command'],
  given: CommandInput,
  facts: object,
  parsed: object,
): ExitCode {
  const shown = Array.isArray(facts) ? facts : { ok: true, ...facts }
  printFacts(given, shown, text(facts, parsed, given.terminal.colour))
  for (const note of given.json ? [] : (notes?.(facts, parsed) ?? [])) given.terminal.note(note)
  return 'ok' in shown && !shown.ok ? exitCode.failed : exitCode.ok
}

/** Prints each entry of a list once it is decided, except the entries of `first`. */
async function follow(
  { followKey, text }: CommandOperation['command'],
  first: readonly object[],
  given: CommandInput,
  { read, isStopped }: { read: () => Promise<object>; isStopped: () => boolean },
): Promise<void> {
  const printed = new Set<string | undefined>([undefined, ...first.map((entry) => followKey?.(entry))])
  if (!given.json) given.terminal.note('Waiting for what comes. Ctrl+C ends this.')
  while (!isStopped()) {
    for (const entry of ((await read()) as object[]).toReversed()) {
      const key = followKey?.(entry)
      if (printed.has(key)) continue
      printed.add(key)
      printFacts(given, entry, text([entry], {}, given.terminal.colour))
    }
    await given.runtime.sleep(followEveryMs)
  }
}

function interruption(): () => boolean {
  let isStopped = false
  process.once('SIGINT', () => (isStopped = true))
  return () => isStopped
}

/** Returns the input that flags and operands give, as the text that an HTTP request would have, or lists. */
function inputOf(
  { command: { defaults, operand, usage }, input }: Pick<CommandOperation, 'command' | 'input'>,
  operands: readonly string[],
  options: CommandOptions,
): Record<string, unknown> {
  const flags = Object.entries(options)
    .filter(([name]) => name in input.shape)
    .map(([name, value]) => [name, value === true ? 'true' : value])
  const given: Record<string, unknown> = { ...defaults, ...Object.fromEntries(flags) }
  if (operand !== undefined && operands.length > 0)
    given[operand] = usage.includes('...') ? operands : operands[0]
  return given
}
