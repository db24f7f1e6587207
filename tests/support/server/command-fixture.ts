import type { CommandInput, CommandOptions, ExitCode } from '../../../server/cli/command.ts'
import { commandOperations, runOperation } from '../../../server/cli/operations/operation-command.ts'
import { createFakeRuntime, type FakeRuntime } from './fake-runtime.ts'

/** The command line of a test: settings by variable name without prefix, and the output of commands. */
export interface CommandFixture {
  input: CommandInput
  runtime: FakeRuntime
  /** Returns the output on stdout and stderr since the last call. */
  said(): { stdout: string; stderr: string }
  /** Returns the single JSON object on stdout since the last call. */
  facts(): Record<string, unknown>
}

/** Creates a command line without colours, isolated from the environment of the test. */
export function createCommandFixture(
  settings: Readonly<Record<string, string>>,
  options: { json?: boolean; runtime?: FakeRuntime } = {},
): CommandFixture {
  const runtime = options.runtime ?? createFakeRuntime()
  let [stdout, stderr] = ['', '']
  const named = Object.entries(settings).map(([name, value]) => [`DRAWBRIDGE_${name}`, value])
  const fixture: CommandFixture = {
    runtime,
    input: {
      flags: {},
      upstreamCommand: undefined,
      environment: Object.fromEntries(named) as Record<string, string>,
      places: new Map(),
      json: options.json ?? false,
      runtime,
      terminal: {
        print: (text) => void (stdout += `${text}\n`),
        note: (text) => void (stderr += `${text}\n`),
        colour: (_, text) => text,
      },
    },
    said() {
      const said = { stdout, stderr }
      stdout = ''
      stderr = ''
      return said
    },
    facts: () => JSON.parse(fixture.said().stdout) as Record<string, unknown>,
  }
  return fixture
}

/** Runs the operation of the command that begins with `words`, as its command line does after parsing flags. */
export async function operate(
  words: string,
  { input }: Pick<CommandFixture, 'input'>,
  options: CommandOptions = {},
  {
    operands = [],
    isStopped = () => false,
  }: { operands?: readonly string[]; isStopped?: () => boolean } = {},
): Promise<ExitCode> {
  const row = commandOperations.find(({ command }) => command.usage.startsWith(words))
  if (!row) throw new Error(`There is no command ${words}.`)
  return runOperation(row, input, operands, options, isStopped)
}
