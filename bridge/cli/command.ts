import type { Runtime } from '@drawbridge/shared/runtime.ts'
import {
  createBridgeConfig,
  type ReadSettings,
  readSettings,
  type Surroundings,
} from '../config/config-reader.ts'
import { type BridgeConfig, ConfigError } from '../config/config.ts'
import { credentialsConfig } from '../config/config-part.ts'
import type { CredentialsConfig } from '../credentials/credentials-config.ts'
import type { ParsedArguments } from '../config/setting-argument.ts'
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
  if (read.problems.length > 0) throw new ConfigError(read.problems)
  return { ...credentialsConfig(read.values, read.home), keychainTimeoutMs }
}
