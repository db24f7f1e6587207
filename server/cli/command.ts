import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type CheckedSettings, checkSettings, ConfigError } from '../config/config.ts'
import { isProduction, readSettings } from '../config/setting-source.ts'
import type { ServerConfig } from '../config/setting.ts'
import { faultTexts, type FileField, fileFaults } from '../config/setting-file.ts'
import type { Terminal } from './terminal.ts'

/** Exit codes are stable, so that scripts can tell them apart. */
export const exitCode = { ok: 0, failed: 1, usage: 2 } as const

/** One of {@link exitCode}. */
export type ExitCode = (typeof exitCode)[keyof typeof exitCode]

/** What every command gets from the command line. */
export interface CommandInput {
  /** Settings that were given as flags, by field name. */
  flags: Readonly<Record<string, string | undefined>>
  /** The words behind `--`: the command of the MCP server that `serve` stands in front of. Undefined: there is no `--`. */
  upstreamCommand: readonly string[] | undefined
  environment: Readonly<Record<string, string | undefined>>
  /** Facts go to stdout as one JSON object. */
  json: boolean
  runtime: Runtime
  terminal: Terminal
}

/** Why a command did not do what it is for, and what to do about it. Nothing secret is in either. */
export class CommandFailure extends Error {
  readonly nextStep: string
  readonly code: ExitCode

  constructor(message: string, nextStep: string, options: { code?: ExitCode; cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = 'CommandFailure'
    this.nextStep = nextStep
    this.code = options.code ?? exitCode.failed
  }
}

/** The settings of flags and environment, as for `serve`, with every fault of the settings themselves. */
export function checkInput({
  flags,
  environment,
}: Pick<CommandInput, 'flags' | 'environment'>): CheckedSettings {
  return checkSettings(readSettings(flags, environment), { production: isProduction(environment) })
}

/**
 * The configuration of flags and environment, as for `serve`. Throws `ConfigError` with every fault of all settings and of
 * the files that `uses` names, which are those that the command is going to open.
 */
export function readConfig(
  input: Pick<CommandInput, 'flags' | 'environment' | 'runtime'>,
  uses: readonly FileField[],
): ServerConfig {
  const checked = checkInput(input)
  const faults = fileFaults(checked, uses, input.runtime.now())
  const problems = [...checked.problems, ...faultTexts(faults, checked.nameOf)]
  if (problems.length > 0) throw new ConfigError(problems)
  return checked.config
}
