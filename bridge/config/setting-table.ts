import {
  flagOf,
  type Setting as SettingOf,
  settingsOf,
  type SettingTable,
} from '@drawbridge/shared/settings/setting.ts'
import { oneOf, parseSwitch, parseText } from '@drawbridge/shared/settings/value.ts'
import { parseCertificateFile, parseHeader, parseHeaderFile } from './config-value-file.ts'
import {
  parseAbsolutePath,
  parseDurationOrOff,
  parseProxy,
  parseSealingKeyText,
  type ValueSource,
} from './config-value.ts'
import { type Rows, signInTable } from './setting-sign-in.ts'

const serverTable = {
  headers: {
    name: 'header',
    value: "'Name: value'",
    repeats: { separator: '\n', pair: ': ' },
    parse: parseHeader,
    doc: 'Header for every request to the server. ${VARIABLE} is expanded. An Authorization header replaces the sign-in.',
  },
  headerFile: {
    value: 'file',
    parse: parseHeaderFile,
    doc: 'File with more headers, one per line; lines that begin with # are ignored.',
  },
  transport: {
    value: 'kind',
    ...oneOf('http-first', 'sse-first', 'http-only', 'sse-only'),
    default: 'http-first',
    doc: 'Streamable HTTP (http) or the older HTTP+SSE (sse): http-first, sse-first, http-only, sse-only.',
  },
  protocol: {
    value: 'revision',
    ...oneOf('auto', 'legacy', 'modern'),
    default: 'auto',
    doc: 'MCP revision of the server: legacy is 2025-11-25 and earlier, modern is 2026-07-28, auto detects it.',
  },
  allowTool: {
    value: 'glob',
    repeats: { separator: ',' },
    parse: parseText,
    defaultText: 'all',
    doc: 'Tools the client may see and call; * matches any text. All others are hidden.',
  },
  ignoreTool: {
    value: 'glob',
    repeats: { separator: ',' },
    parse: parseText,
    doc: 'Tools the client may neither see nor call, even if they are allowed.',
  },
  retry: {
    value: 'duration',
    parse: parseDurationOrOff,
    default: '10s',
    doc: 'How long one message is retried while the server cannot be reached; off for never. A server that was never reached and refuses the connection is not retried.',
  },
  keepAlive: {
    parse: parseSwitch,
    default: 'off',
    doc: 'Send a ping every 30 seconds while the connection is idle.',
  },
} satisfies Rows

const networkTable = {
  proxy: {
    value: 'url',
    parse: parseProxy,
    defaultText: 'HTTPS_PROXY, HTTP_PROXY and NO_PROXY',
    doc: 'HTTP proxy for every server that NO_PROXY does not list; off for none.',
    negative: '--no-proxy',
  },
  ca: {
    value: 'file',
    parse: parseCertificateFile,
    defaultText: 'those of Node and NODE_EXTRA_CA_CERTS',
    doc: 'PEM file with more certificate authorities to trust.',
  },
  allowHttp: {
    parse: parseSwitch,
    default: 'off',
    doc: 'Allow plain http to other computers. Anyone on the network path can then read the tokens.',
  },
  timeout: {
    value: 'duration',
    parse: parseDurationOrOff,
    default: '5m',
    doc: 'Limit for a response to start, for a pause within it, and for a person to sign in; off for none.',
  },
} satisfies Rows

const storageTable = {
  store: {
    variable: 'CREDENTIAL_STORE',
    value: 'kind',
    ...oneOf('keychain', 'file', 'memory'),
    defaultText: 'the keychain if it works, else file',
    doc: 'Where the key that encrypts stored logins is kept: keychain, file, or memory, which stores nothing.',
  },
  key: {
    value: 'key',
    parse: parseSealingKeyText,
    doc: 'The key that encrypts stored logins, for containers: 32 bytes as base64url. It is never written to disk.',
    secret: true,
    notInFile: true,
  },
  home: {
    value: 'folder',
    parse: parseAbsolutePath,
    defaultText: '~/.drawbridge',
    doc: 'Folder for stored logins, logs and config.json.',
    notInFile: true,
  },
} satisfies Rows

const outputTable = {
  debug: {
    parse: parseSwitch,
    default: 'off',
    doc: 'Write a log to the folder logs in --home. It contains no token, header or body.',
  },
} satisfies Rows

type Table = typeof serverTable &
  typeof signInTable &
  typeof networkTable &
  typeof storageTable &
  typeof outputTable

type ValueOf<Row> = Row extends { parse: (...given: never) => infer Value }
  ? Row extends { repeats: object }
    ? readonly Value[]
    : Value
  : never

/** The values of all settings, as their parsers return them. Optional ones have no default. Durations are milliseconds. */
export type SettingValues = {
  [Field in keyof Table as Table[Field] extends { default: string } ? Field : never]: ValueOf<Table[Field]>
} & {
  [Field in keyof Table as Table[Field] extends { default: string } ? never : Field]?: ValueOf<Table[Field]>
}

type SettingGroup = 'Server' | 'Signing in' | 'Network' | 'Storage' | 'Output'

export interface Setting extends SettingOf<keyof SettingValues, ValueSource> {
  group: SettingGroup
}

/** All settings: the source of flags, variables, configuration file, help and documentation. */
export const settings: readonly Setting[] = [
  ...inGroup('Server', serverTable),
  ...inGroup('Signing in', signInTable),
  ...inGroup('Network', networkTable),
  ...inGroup('Storage', storageTable),
  ...inGroup('Output', outputTable),
]

function inGroup(group: SettingGroup, table: Rows): Setting[] {
  const rows = settingsOf(table as SettingTable<SettingValues, ValueSource>)
  return rows.map((row) => Object.assign({ group }, row))
}

/** Returns the flag that means `off`: every switch has one, and any setting may name one. */
export function negativeOf({ name, value, negative }: Setting): `--no-${string}` | undefined {
  return negative ?? (value === undefined ? `--no-${name}` : undefined)
}

/** Every flag of a setting that a command line may have. */
export const settingFlags: readonly string[] = settings
  .filter(({ secret }) => !secret)
  .flatMap((setting) => [flagOf(setting), negativeOf(setting) ?? []].flat())
