import { jsonForTerminal } from '@drawbridge/shared/json-text.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { type CheckedSettings, checkSettings } from '../config/config.ts'
import type { VariablePlaces } from '../config/env-file.ts'
import { isProduction, readSettings } from '../config/setting-source.ts'
import type { ServerConfig, Setting } from '../config/setting-table.ts'
import { faultTexts, type FileField, fileFaults } from '../config/setting-file.ts'
import { OperatorRefusal } from '../core/operator/operation.ts'
import type { Terminal } from './terminal.ts'

/** Stable exit codes, which scripts can rely on. */
export const exitCode = { ok: 0, failed: 1, usage: 2 } as const

export type ExitCode = (typeof exitCode)[keyof typeof exitCode]

export interface CommandInput {
  /** Settings given as flags, by field name. */
  flags: Readonly<Record<string, string | undefined>>
  /** The words after `--`: the command of the MCP server behind `serve`. Undefined without `--`. */
  upstreamCommand: readonly string[] | undefined
  /** With the variables of `--env-file`. */
  environment: Readonly<Record<string, string | undefined>>
  places: VariablePlaces
  /** Prints facts as one JSON object on stdout. */
  json: boolean
  runtime: Runtime
  terminal: Terminal
}

/** The flags of a command as parsed. {@link CommandInput} has the settings. */
export type CommandOptions = Readonly<Record<string, string | boolean | readonly string[] | undefined>>

export interface CommandRow {
  /** With its operands: `keys remove <kid...>`, `grants revoke [grant-id]`. */
  usage: string
  description: string
  /** Help text of `--json`, if it prints anything but one JSON object. */
  json?: string | undefined
  /** Without the name of the program. */
  examples: readonly string[]
  /** Its own flags with their help: `--all` is on or off, `--user <sub>` takes a value. */
  switches?: Readonly<Record<`--${string}`, string>>
  /** Settings in its help. It accepts all of them: a configuration is only ever checked as a whole. */
  shown?: readonly Setting['field'][]
  /** Loads the code of the command, so that serving does not wait for the others. */
  run(input: CommandInput, operands: readonly string[], options: CommandOptions): Promise<ExitCode>
}

type SettingInput = Pick<CommandInput, 'flags' | 'environment' | 'places'>

/** Checks the settings of flags and environment, as for `serve`. Does not check the files that they name. */
export function checkInput({ flags, environment, places }: SettingInput): CheckedSettings {
  return checkSettings(readSettings(flags, environment, places), { production: isProduction(environment) })
}

/**
 * Returns the configuration of flags and environment, as for `serve`. Throws `ConfigError` with every fault of all settings and of
 * the files in `uses`, which the command is going to open.
 */
export function readConfig(
  input: SettingInput & Pick<CommandInput, 'runtime'>,
  uses: readonly FileField[],
): ServerConfig {
  const checked = checkInput(input)
  const faults = fileFaults(checked, uses, input.runtime.now())
  const problems = [...checked.problems, ...faultTexts(faults, checked.nameOf)]
  if (problems.length > 0) throw new ConfigError(problems)
  return checked.config
}

const everySetting = 'Every setting: drawbridge-server serve --help, or docs/configuration.md'

/** Returns the text of a failure for stderr, with the next step last. */
export function failureText(command: string, error: unknown): { text: string; code: ExitCode } {
  const head =
    command === 'serve' ? 'drawbridge-server did not start.' : `drawbridge-server ${command} failed.`
  const { messages, nextStep, code } = partsOf(error)
  const lines = [head, ...messages.map((message) => `  - ${message}`), ...(nextStep === '' ? [] : [nextStep])]
  return { text: lines.join('\n'), code }
}

export function failureJson(error: unknown): string {
  const { messages, nextStep } = partsOf(error)
  return jsonForTerminal({ ok: false, errors: messages, next_step: nextStep })
}

function partsOf(error: unknown): { messages: readonly string[]; nextStep: string; code: ExitCode } {
  if (error instanceof ConfigError) {
    return { messages: error.problems, nextStep: error.nextStep ?? everySetting, code: exitCode.usage }
  }
  if (error instanceof OperatorRefusal) {
    const { message, status, nextStep = 'For flags and examples, add --help.' } = error
    return { messages: [message], nextStep, code: status === 400 ? exitCode.usage : exitCode.failed }
  }
  const {
    code = '',
    message,
    address,
    port,
  } = error as NodeJS.ErrnoException & {
    address?: string
    port?: number
  }
  const isTaken = code === 'EADDRINUSE' && port !== undefined
  const problem = isTaken
    ? `Port ${port} of ${address ?? 'this computer'} is already in use (${code}).`
    : message
  return { messages: [problem], nextStep: nextSteps[code] ?? checkAll, code: exitCode.failed }
}

const elsewhere = 'Choose a writable place with --store sqlite:PATH.'

const openElsewhere =
  'Close the program that has the file open, or let this user write it; then run this again.'

const nextSteps: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'Stop the program that uses it, or take other ports, the last one for the demo app; a second trial in this folder also needs --store sqlite:second.db: drawbridge-server --listen 8797 --base-url http://localhost:8797 --app-url http://localhost:8798',
  EACCES: elsewhere,
  EROFS: elsewhere,
  EBUSY: openElsewhere,
  EPERM: openElsewhere,
}

const checkAll = 'To check everything that the server depends on: drawbridge-server doctor'
