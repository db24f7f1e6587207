import type { Runtime } from '@drawbridge/shared/runtime.ts'
import {
  createBridgeConfig,
  type ReadSettings,
  readSettings,
  type Surroundings,
  configError,
} from '../config/config-reader.ts'
import type { BridgeConfig } from '../config/config.ts'
import { credentialsConfig } from '../config/config-part.ts'
import type { CredentialsConfig } from '../credentials/credential-store.ts'
import type { CommandLine } from '../config/setting-argument.ts'
import type { SettingGroup } from '../config/setting.ts'
import type { ExitCode } from './failure/command-failure.ts'
import type { Terminal } from './terminal/output.ts'

/** Input of every command. */
export interface CommandInput {
  line: CommandLine
  surroundings: Surroundings
  /** Print facts as one JSON object on stdout. */
  json: boolean
  runtime: Runtime
  terminal: Terminal
}

export interface CommandRow {
  /** The command with its operands. */
  usage: string
  description: string
  group: 'Sign-in' | 'Looking' | 'Setting up'
  examples: readonly string[]
  /** Flags of its own: `--all` is on or off, `--name <name>` takes a value. `--json` is taken by every command with `json`. */
  switches?: Readonly<Record<`--${string}`, string>>
  /** Members of the object that `--json` prints; undefined: the command has no `--json`. */
  json?: Readonly<Record<string, string>>
  /** Groups of settings in its help. Every command accepts all of them, so that one set of flags fits all. */
  shown: readonly SettingGroup[]
  run(input: CommandInput, own: OwnFlags): Promise<ExitCode>
}

/** The given flags of a command that are not settings. */
export interface OwnFlags {
  isOn(name: `--${string}`): boolean
  valueOf(name: `--${string}`): string | undefined
}

/** Returns the words of a command without its operands, such as `token set`. */
export function commandName({ usage }: Pick<CommandRow, 'usage'>): string {
  return usage.replace(/ [<[].*/, '')
}

// A person is there, and the keychain may ask them.
const keychainTimeoutMs = 120_000

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
