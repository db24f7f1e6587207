import {
  type Setting as SettingOf,
  type SettingRow,
  settingsOf,
} from '@drawbridge/shared/settings/setting.ts'
import { oneOf, parseList, parseSwitch, parseText } from '@drawbridge/shared/settings/value.ts'
import {
  parseAddressRanges,
  parseBaseUrl,
  parseCookieName,
  parseCount,
  parseDuration,
  orOff,
  parseDocumentHosts,
  parseListenAddress,
  parseOrigins,
  parseOwnBaseUrl,
  parsePageUrl,
  parseRate,
} from './config-value.ts'
import { parseAccent } from '../core/accent.ts'
import { providerTable } from './provider-setting.ts'
import { parseSecretKeySource, parseStore } from './store-address.ts'

const table = {
  baseUrl: {
    parse: parseOwnBaseUrl,
    default: 'http://localhost:8787',
    doc: 'Public URL of the server, perhaps with a path; https unless it is a loopback address. Never taken from request headers.',
  },
  listen: {
    parse: parseListenAddress,
    default: '127.0.0.1:8787',
    defaultText: '0.0.0.0:PORT where the variable PORT is set; 127.0.0.1:8787',
    doc: 'Address and port to listen on. PORT, without a prefix, is read from the environment, where platforms put it; not with the embedded provider.',
  },
  appUrl: {
    parse: parseBaseUrl,
    default: 'http://localhost:8788',
    doc: 'The web application where accounts are created. The embedded provider and the demo app are served there.',
  },
  ...providerTable,
  cookieName: {
    parse: parseCookieName,
    derived: true,
    defaultText: 'sb-<first label of the provider host>-auth-token',
    doc: 'Base name of the session cookie.',
  },
  sessionTokens: {
    parse: parseSwitch,
    default: 'on',
    doc: 'Accept tokens and session cookies of the provider at /mcp, as well as tokens of this server.',
  },
  personalTokens: {
    parse: parseSwitch,
    default: 'off',
    doc: 'Let users make tokens for scripts and CI on /account/connections: on or off; see docs/tokens.md.',
  },
  allowedOrigins: {
    parse: parseOrigins,
    derived: true,
    defaultText: 'the origins of BASE_URL and APP_URL',
    doc: 'Origins whose pages may call /mcp with the session cookie, comma-separated.',
  },
  sessionTtl: {
    parse: parseDuration,
    default: '30d',
    doc: 'How long a connection lasts, counted from the sign-in.',
  },
  accessTokenTtl: {
    parse: parseDuration,
    default: '1h',
    doc: 'How long an access token lasts before the client refreshes it. At least 10m: with less Gemini CLI, Codex and the Go SDK refresh all the time, or fail.',
  },
  store: {
    parse: parseStore,
    derived: true,
    defaultText: 'sqlite:.drawbridge/server.db; sqlite:.drawbridge/trial.db for embedded',
    doc: 'Where everything is stored: sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE for several instances, or memory: to lose it on exit.',
  },
  secretKeys: {
    parse: parseSecretKeySource,
    defaultText: 'generated next to the store for embedded, needed otherwise',
    doc: 'Keys that seal stored data, as kid:base64 with 32 bytes each, comma-separated; the first seals, all open. Or file:PATH of a file that holds them.',
    secret: true,
  },
  privateUseRedirectUris: {
    parse: parseList,
    default: 'cursor://anysphere.cursor-mcp/oauth/callback',
    doc: 'Redirect URIs with a private-use scheme that clients may register, comma-separated, each matched exactly.',
  },
  tools: {
    parse: parseText,
    defaultText: 'whoami, and the notes of the demo web app',
    doc: 'ES module with the tools that /mcp offers, such as ./my-tools.mjs; see docs/tools.md.',
  },
  upstream: {
    parse: parseText,
    doc: 'MCP server that /mcp stands in front of, instead of TOOLS: its URL, or a JSON file that describes it; see docs/upstream-file.md. A command goes behind --.',
  },
  clients: {
    parse: parseText,
    doc: 'JSON file with clients that need no registration: an array of client metadata, each with a client_id.',
  },
  access: {
    parse: parseText,
    defaultText: 'everyone whom the provider signs in',
    doc: 'JSON file with the rules that say who may come in, and what they may call; see docs/access.md. It is followed while the server runs.',
  },
  audit: {
    parse: parseText,
    doc: 'File that gets the audit events, as JSON lines: sign-ins, grants, refusals and calls. SIGHUP opens it again after it was moved (not on Windows).',
  },
  callLimit: {
    parse: orOff(parseRate),
    default: '600/m',
    doc: 'Messages that one person may send to /mcp in a second, minute or hour (10/s, 600/m, 5000/h), over all their clients, in each instance; or off. Each 64 KB of a message count as one.',
  },
  callsAtOnce: {
    parse: orOff(parseCount),
    default: '64',
    doc: 'Requests to /mcp that one person may have under way at the same time, in each instance; or off.',
  },
  registration: {
    parse: parseSwitch,
    default: 'on',
    doc: 'Whether clients may register themselves. If off, the server accepts clients of CLIENTS, of clients add, and those with a metadata document.',
  },
  registrationLimit: {
    parse: parseCount,
    default: '60',
    doc: 'Registrations per hour from one address. Hosted assistants, whose users share addresses, get ten times as many.',
  },
  clientDocuments: {
    parse: parseDocumentHosts,
    default: 'on',
    doc: 'Whether a client ID may be the URL of a metadata document, which the server then fetches: on, off, or only from these hosts, comma-separated: claude.ai, *.example.com; !host refuses one.',
  },
  trustedProxies: {
    parse: parseAddressRanges,
    default: '',
    doc: 'Addresses and ranges of reverse proxies, comma-separated: 127.0.0.1, 10.0.0.0/8; private stands for all that are not on the internet, see docs/where-to-run.md. Their X-Forwarded-For names the client, for limits per address. Host and scheme are never taken from headers.',
  },
  metricsListen: {
    parse: orOff(parseListenAddress),
    default: 'off',
    doc: 'Address and port for Prometheus metrics at /metrics. It has no authentication: keep it on an internal network.',
  },
  adminListen: {
    parse: orOff(parseListenAddress),
    default: 'off',
    doc: 'Address and port for the admin API: grants, clients, keys and events; see docs/admin.md. It needs ADMIN_TOKEN_FILE. Keep it on an internal network.',
  },
  adminTokenFile: {
    parse: parseText,
    doc: 'File with the bearer token of the admin API: at least 32 printable characters, readable by its owner only. It is followed while the server runs.',
  },
  appName: {
    parse: parseText,
    derived: true,
    defaultText: 'host of APP_URL; Fieldnotes for the demo app',
    doc: 'What the sign-in pages call the web app.',
  },
  appLogo: {
    parse: parseText,
    doc: 'File with the logo of the web app, which the pages show with APP_NAME instead of the look of Drawbridge: SVG, PNG, JPEG or WebP, at most 32 KB; see docs/deploy.md.',
  },
  appAccent: {
    parse: parseAccent,
    defaultText: 'green; grey with APP_LOGO',
    doc: 'Colour of the pages, such as #6d28d9. Where it would not stand out, in light or dark mode, a darker or lighter one is used.',
  },
  texts: {
    parse: parseList,
    default: '',
    defaultText: 'English and German',
    doc: 'JSON files with the texts of the pages in further languages, comma-separated, or others for English or German; drawbridge-server texts prints one to start from.',
  },
  wellKnown: {
    parse: parseText,
    doc: 'JSON file with texts that are served at /.well-known/NAME, by name: proofs for directories, security.txt; see docs/directories.md.',
  },
  privacyUrl: {
    parse: parsePageUrl,
    doc: 'Privacy policy: a link on the pages for people, and in the metadata.',
  },
  termsUrl: {
    parse: parsePageUrl,
    doc: 'Terms of service: likewise.',
  },
  supportUrl: {
    parse: parsePageUrl,
    doc: 'Where people get help and developers find documentation: likewise.',
  },
  embeddedTokenTtl: {
    parse: parseDuration,
    default: '3600',
    doc: 'How long access tokens of the embedded provider last.',
  },
  log: {
    ...oneOf('silent', 'error', 'info', 'debug'),
    default: 'info',
    doc: 'How much is logged to stderr, as JSON lines: silent, error, info or debug.',
  },
} satisfies Record<string, Row>

/** A row whose default is not a text of its own may be `derived`: it follows from other settings (`withDefaults`). */
type Row = SettingRow<unknown> & { derived?: true }

type Table = typeof table

/** The fields whose default follows from other settings. */
export type DerivedField = {
  [Field in keyof Table]: Table[Field] extends { derived: true } ? Field : never
}[keyof Table]

/** The complete, checked configuration: what the parsers return. Durations are seconds. Undefined: see the default in the table. */
export type ServerConfig = {
  readonly [Field in keyof Table]:
    | Readonly<ReturnType<Table[Field]['parse']>>
    | (Table[Field] extends { default: string } | { derived: true } ? never : undefined)
}

/** Settings as text, by field. What is left out has its default. */
export type Settings = Partial<Record<keyof ServerConfig, string>>

export type Setting = SettingOf<keyof ServerConfig>

/** Every setting there is: flags, variables, help and documentation all come from here. */
export const settings: readonly Setting[] = settingsOf<ServerConfig>(table)
