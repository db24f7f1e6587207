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
import type { ParsedArguments } from '../config/setting-argument.ts'
import type { SettingGroup } from '../config/setting.ts'
import type { ExitCode } from './failure/command-failure.ts'
import type { Terminal } from './terminal/output.ts'

/** What every command gets from the command line. */
export interface CommandInput {
  line: ParsedArguments
  surroundings: Surroundings
  /** Facts go to stdout as one JSON object. */
  json: boolean
  runtime: Runtime
  terminal: Terminal
}

/** One command of the command line, with its help. */
export interface CommandRow {
  /** As it is called, with the operands it takes. */
  usage: string
  description: string
  /** The heading that it stands under in the help. */
  group: 'Sign-in' | 'Looking' | 'Setting up'
  /** Command lines without the name of the program. */
  examples: readonly string[]
  /** Flags of its own: `--all` is on or off, `--name <name>` takes a value. `--json` is taken by every command with `json`. */
  switches?: Readonly<Record<`--${string}`, string>>
  /** Members of the JSON object that `--json` prints; undefined: it has no facts to print. */
  json?: Readonly<Record<string, string>>
  /** Groups of settings that its help lists; all are taken, so that one line of flags does for every command. */
  shown: readonly SettingGroup[]
  /** Its code is loaded by the call. */
  run(input: CommandInput, own: OwnFlags): Promise<ExitCode>
}

/** The flags of a command that are no settings, as they were given. */
export interface OwnFlags {
  isOn(name: `--${string}`): boolean
  valueOf(name: `--${string}`): string | undefined
}

/** The words that call a command, without its operands: `token set`. */
export function commandName({ usage }: Pick<CommandRow, 'usage'>): string {
  return usage.replace(/ [<[].*/, '')
}

/** Flags of a command that are no settings. */
export function ownFlags(row: Pick<CommandRow, 'switches' | 'json'>): `--${string}`[] {
  return [
    ...(Object.keys(row.switches ?? {}) as `--${string}`[]),
    ...(row.json === undefined ? [] : (['--json'] as const)),
  ]
}

// A person is there, and the keychain may ask them.
const keychainTimeoutMs = 120_000

/** The settings of a command, faults and all. Warnings are told. */
export function settingsOf({ line, surroundings, terminal }: CommandInput): ReadSettings {
  const read = readSettings(line, surroundings)
  for (const warning of read.warnings) terminal.note(warning)
  return read
}

/** The configuration for the server that the command names. Throws `ConfigError` with every fault. */
export function configOf(input: CommandInput): BridgeConfig {
  const config = createBridgeConfig(settingsOf(input), input.surroundings)
  return { ...config, credentials: { ...config.credentials, keychainTimeoutMs } }
}

/** Where credentials are, for commands that may go without a server. Throws `ConfigError` with every fault. */
export function credentialsOf(read: ReadSettings): CredentialsConfig {
  if (read.problems.length > 0) throw configError(read.problems, read.home)
  return { ...credentialsConfig(read.values, read.home), keychainTimeoutMs }
}
