import { jsonForTerminal } from '@drawbridge/shared/json-text.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import {
  type BridgeConfig,
  createBridgeConfig,
  type ReadSettings,
  readSettings,
  type Surroundings,
  configError,
} from '../config/config-reader.ts'
import { credentialsConfig } from '../config/config-part.ts'
import type { CredentialsConfig } from '../credentials/credential-store.ts'
import type { CommandLine } from '../config/setting-argument.ts'
import type { ExitCode } from './failure/failure-table.ts'
import type { Terminal } from './terminal/output.ts'

/** Input of every command. */
export interface CommandInput {
  line: CommandLine
  surroundings: Surroundings
  /** Print facts as one JSON object on stdout. */
  json: boolean
  runtime: Runtime
  terminal: Terminal
  options: CommandOptions
}

/** The flags of commands that are not settings, as given. */
export interface CommandOptions {
  all?: boolean
  dryRun?: boolean
  force?: boolean
  name?: string
  print?: boolean
  project?: boolean
  show?: boolean
  trace?: boolean
  yes?: boolean
}

/** A command. It accepts the flags of all settings as well, so that one set of flags fits all. */
export interface CommandRow {
  /** The command with its operands. */
  usage: string
  description: string
  group: 'Sign-in' | 'Looking' | 'Setting up'
  examples: readonly string[]
  /** Flags of its own: `--all` is on or off, `--name <name>` takes a value. Each command takes `--json` too. */
  switches?: Readonly<Record<`--${string}`, string>>
  /** Members of the object that `--json` prints. */
  json: Readonly<Record<string, string>>
  run(input: CommandInput): Promise<ExitCode>
}

/** Returns the words of a command without its operands, such as `token set`. */
export function commandName({ usage }: Pick<CommandRow, 'usage'>): string {
  return usage.replace(/ [<[].*/, '')
}

// A person is there, and the keychain may ask them.
const keychainTimeoutMs = 120_000

/** Prints the facts that a command has found or done: as one JSON object with `--json`, or else with `text`. */
export function printResult({ json, terminal }: CommandInput, facts: object, text: () => void): void {
  if (json) terminal.print(jsonForTerminal(facts))
  else text()
}

/** Reads the settings of a command and prints their warnings. Faults stay in the result. */
export function settingsOf({ line, surroundings, terminal }: CommandInput): ReadSettings {
  const read = readSettings(line, surroundings)
  for (const warning of read.warnings) terminal.note(warning)
  return read
}

/** Returns the configuration for the server of the command. Throws `ConfigError` with every fault. */
export function configOf(input: CommandInput): BridgeConfig {
  const config = createBridgeConfig(settingsOf(input), input.surroundings)
  return { ...config, credentials: { ...config.credentials, keychainTimeoutMs } }
}

/** Returns the storage of credentials, for commands without a server. Throws `ConfigError` with every fault. */
export function credentialsOf(read: ReadSettings): CredentialsConfig {
  if (read.problems.length > 0) throw configError(read.problems, read.home)
  return { ...credentialsConfig(read.values, read.home), keychainTimeoutMs }
}
