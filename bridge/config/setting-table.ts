import { settingsOf, type SettingTable } from '@drawbridge/shared/settings/setting.ts'
import { oneOf, parseSwitch, parseText } from '@drawbridge/shared/settings/value.ts'
import { parseCertificateFile, parseHeader, parseHeaderFile } from './config-value-file.ts'
import {
  parseAbsolutePath,
  parseDurationOrOff,
  parseProxy,
  parseSealingKeyText,
  type ValueSource,
} from './config-value.ts'
import { signInTable } from './setting-sign-in.ts'
import type {
  NetworkValues,
  OutputValues,
  ServerValues,
  Setting,
  SettingGroup,
  StorageValues,
} from './setting.ts'

const serverTable: SettingTable<ServerValues, ValueSource> = {
  headers: {
    name: 'header',
    value: "'Name: value'",
    repeats: { separator: '\n', pair: ': ' },
    parse: parseHeader,
    defaultText: 'none',
    doc: 'Sent with every request to the server. ${VARIABLE} is expanded; with Authorization there is no sign-in.',
    mcpRemote: true,
  },
  headerFile: {
    value: 'file',
    parse: parseHeaderFile,
    defaultText: 'none',
    doc: 'More headers, one a line; lines that begin with # are skipped.',
    mcpRemote: true,
  },
  transport: {
    value: 'kind',
    ...oneOf('http-first', 'sse-first', 'http-only', 'sse-only'),
    default: 'http-first',
    doc: 'Streamable HTTP (http) or the older HTTP+SSE (sse): http-first, sse-first, http-only, sse-only.',
    mcpRemote: true,
  },
  protocol: {
    value: 'era',
    ...oneOf('auto', 'legacy', 'modern'),
    default: 'auto',
    doc: 'What the server speaks: legacy opens with initialize, modern is 2026-07-28, auto finds out.',
    mcpRemote: true,
  },
  allowTool: {
    value: 'glob',
    repeats: { separator: ',' },
    parse: parseText,
    defaultText: 'all',
    doc: 'Tools the client may see and call; * stands for anything. All others are hidden.',
  },
  ignoreTool: {
    value: 'glob',
    repeats: { separator: ',' },
    parse: parseText,
    defaultText: 'none',
    doc: 'Tools the client may neither see nor call, whatever is allowed.',
    mcpRemote: true,
  },
  retry: {
    value: 'duration',
    parse: parseDurationOrOff,
    default: '20s',
    doc: 'How long a server that cannot be reached is tried again for one message; off for never.',
  },
  watchdog: {
    value: 'duration',
    parse: parseDurationOrOff,
    default: '12s',
    doc: 'Silence within a call after which the server is asked whether it still lives; off for never.',
  },
  keepAlive: {
    parse: parseSwitch,
    default: 'off',
    doc: 'Send pings while nothing else is sent.',
    mcpRemote: true,
  },
  pingInterval: {
    value: 'duration',
    parse: parseDurationOrOff,
    default: '30s',
    doc: 'Time between two pings; switches --keep-alive on.',
    mcpRemote: true,
  },
  disableCookies: {
    parse: parseSwitch,
    default: 'off',
    doc: 'Do not keep cookies of the server. They are kept in memory, for balancers that stick.',
    mcpRemote: true,
  },
}

const networkTable: SettingTable<NetworkValues, ValueSource> = {
  proxy: {
    value: 'url',
    parse: parseProxy,
    defaultText: 'HTTPS_PROXY, HTTP_PROXY and NO_PROXY',
    doc: 'HTTP proxy for every server that NO_PROXY does not name; off for none.',
    negative: '--no-proxy',
  },
  ca: {
    value: 'file',
    parse: parseCertificateFile,
    defaultText: 'those of Node, and NODE_EXTRA_CA_CERTS',
    doc: 'PEM file of more authorities to trust.',
  },
  ipv4: {
    parse: parseSwitch,
    default: 'off',
    doc: 'Use IPv4 only.',
    mcpRemote: true,
  },
  allowHttp: {
    parse: parseSwitch,
    default: 'off',
    doc: 'Allow plain http beyond this machine. Everybody on the way can read the tokens then.',
    mcpRemote: true,
  },
  connectTimeout: {
    value: 'duration',
    parse: parseDurationOrOff,
    default: '10s',
    doc: 'Limit for a connection; off for none.',
    mcpRemote: true,
  },
  headersTimeout: {
    value: 'duration',
    parse: parseDurationOrOff,
    default: '5m',
    doc: 'Limit until a response begins; off for none.',
    mcpRemote: true,
  },
  bodyTimeout: {
    value: 'duration',
    parse: parseDurationOrOff,
    default: '5m',
    doc: 'Silence that is allowed within a response; off for any.',
    mcpRemote: true,
  },
}

const storageTable: SettingTable<StorageValues, ValueSource> = {
  store: {
    variable: 'CREDENTIAL_STORE',
    value: 'kind',
    ...oneOf('keychain', 'file', 'memory'),
    defaultText: 'the keychain if it works, else file',
    doc: 'Where the key is that seals stored logins: keychain, file, or memory, which stores nothing.',
  },
  key: {
    value: 'key',
    parse: parseSealingKeyText,
    defaultText: 'none',
    doc: 'The key that seals stored logins, for containers: 32 bytes as base64url. It is written nowhere.',
    secret: true,
    notInFile: true,
  },
  keyFile: {
    value: 'file',
    parse: parseText,
    defaultText: 'none',
    doc: 'A file whose content the key is derived from, for containers.',
  },
  home: {
    value: 'folder',
    parse: parseAbsolutePath,
    defaultText: '~/.drawbridge',
    doc: 'Folder of stored logins, logs and config.json.',
    notInFile: true,
  },
}

const outputTable: SettingTable<OutputValues, ValueSource> = {
  debug: {
    parse: parseSwitch,
    default: 'off',
    doc: 'Write a log under the folder logs of --home. No token, header or body is in it.',
    mcpRemote: true,
  },
  silent: {
    parse: parseSwitch,
    default: 'off',
    doc: 'Nothing on stderr but the reason of an end.',
    mcpRemote: true,
  },
}

/** Every setting there is: flags, variables, configuration file, help and documentation all come from here. */
export const settings: readonly Setting[] = [
  ...inGroup('Server', settingsOf(serverTable)),
  ...inGroup('Signing in', settingsOf(signInTable)),
  ...inGroup('Network', settingsOf(networkTable)),
  ...inGroup('Storage', settingsOf(storageTable)),
  ...inGroup('Output', settingsOf(outputTable)),
]

function inGroup(group: SettingGroup, rows: readonly Omit<Setting, 'group'>[]): Setting[] {
  return rows.map((row) => Object.assign({ group }, row))
}
