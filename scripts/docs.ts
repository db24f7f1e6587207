// Generates the documents that are based on a table in the code.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { type OAuthErrorCode, oauthErrorStatus } from '@drawbridge/shared/oauth/oauth-error.ts'
import { commandTable } from '../bridge/cli/command-line/command-table.ts'
import { failureTable } from '../bridge/cli/failure/failure-table.ts'
import { clientTable, type ClientWay } from '@drawbridge/shared/clients/client-table.ts'
import { flagOf, variableOf } from '@drawbridge/shared/settings/setting.ts'
import { settings as bridgeSettings } from '../bridge/config/setting-table.ts'
import { adminRoutes } from '../server/admin/admin-route.ts'
import { readCommandTable } from '../server/cli/command-table.ts'
import { commandOperations } from '../server/cli/operations/operation-command.ts'
import { settings } from '../server/config/setting-table.ts'
import { errorTable, requestFaults } from '../server/http/error-table.ts'
import { type SignInReason, statusOf } from '../server/http/login/sign-in-failure.ts'
import { english } from '../server/texts/built-in.ts'
import type { LogEvent } from '../server/observability/event-kind.ts'
import { logEvents } from '../server/observability/log-event.ts'
import { metricTable } from '../server/observability/metrics.ts'
import { conformancePage } from '../tests/conformance/conformance-page.ts'
import { connectionsApiDocument } from './docs/connections-api.ts'
import { llmsText } from './docs/llms-text.ts'

/**
 * Next step of a client for each OAuth code. Undefined: not sent here, or described with the refusals that no
 * registry names.
 */
const oauthNextSteps: Readonly<Record<OAuthErrorCode, string | undefined>> = {
  access_denied: 'The user denied access. Ask again only if they want to.',
  authorization_pending: 'Ask again after the interval: the user has not decided yet.',
  expired_token: 'Start device sign-in again: the code has expired.',
  insufficient_scope: 'Authorize again with the scope in the challenge.',
  invalid_client: 'Register again, or check the secret.',
  invalid_client_metadata: 'Correct the member in the description.',
  invalid_grant: 'Authorize again: the code, token or connection has ended.',
  invalid_redirect_uri: 'Use https, or http on a loopback host.',
  invalid_request: 'Correct what the description says.',
  invalid_scope: 'Send scopes separated by spaces, in the characters RFC 6749 allows.',
  invalid_software_statement: undefined,
  invalid_target: 'Use the resource in the protected resource metadata.',
  invalid_token: 'Refresh the token; if that fails, authorize again.',
  login_required: 'Ask without prompt=none.',
  request_not_supported: 'Send the parameters themselves.',
  request_uri_not_supported: 'Send the parameters themselves.',
  server_error: undefined,
  slow_down: 'From now on, wait five seconds longer between requests.',
  temporarily_unavailable: undefined,
  unapproved_software_statement: undefined,
  unauthorized_client: 'Register with the grant type you use.',
  unsupported_grant_type: 'Use authorization_code, refresh_token or the device grant type.',
  unsupported_response_type: 'Use code.',
  unsupported_token_type: undefined,
}

function table(head: string, rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.map(cellText).join(' | ')} |`
  const columns = head.split(' | ')
  return [line(columns), line(columns.map(() => '---')), ...rows.map(line)].join('\n')
}

/** Markdown shows text between backticks unchanged, except for the end of a cell. */
function cellText(cell: string | number): string {
  return String(cell)
    .replaceAll('|', String.raw`\|`)
    .replaceAll(/`[^`]*`|</g, (found) => (found === '<' ? '&lt;' : found))
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../docs/${name}`, import.meta.url))
}

/** Puts `text` between the comment that names `place` and the next `<!-- end -->` of a document that is written by hand. */
function fill(name: string, place: string, text: string): void {
  const document = readFileSync(pathOf(name), 'utf8')
  const [before, after] = document.split(`<!-- ${place} -->`)
  const end = after?.indexOf('<!-- end -->') ?? -1
  if (before === undefined || after === undefined || end < 0) {
    throw new Error(`docs/${name} has no place for ${place}.`)
  }
  writeFileSync(pathOf(name), `${before}<!-- ${place} -->\n\n${text}\n\n${after.slice(end)}`)
}

/** Fills a place with a table: `head` names the columns, each of `items` is a row. */
function fillTable<Item>(
  name: string,
  place: string,
  head: string,
  items: readonly Item[],
  rowOf: (item: Item) => (string | number)[],
): void {
  fill(name, place, table(head, items.map(rowOf)))
}

const code = (text: string): string => `\`${text}\``
const codes = (texts: readonly string[]): string => texts.map(code).join(', ')

const noFlag = 'none: it would be visible to others'

const settingHead = 'variable | flag | field | default | meaning'
fillTable('configuration.md', 'settings', settingHead, settings, (setting) => [
  code(variableOf(setting)),
  setting.secret ? noFlag : code(flagOf(setting)),
  code(setting.field),
  setting.defaultText,
  setting.doc,
])
fillTable('errors.md', 'errors', 'code | status | page | next step', Object.entries(errorTable), (row) => {
  const [reason, { status, title, nextStep }] = row
  return [code(reason), status, title, nextStep]
})
fillTable('errors.md', 'failures', 'failure | status | text', Object.entries(english.failures), (row) => {
  const [failure, text] = row
  return [code(failure), statusOf({ reason: failure as SignInReason }), text]
})
const oauthRows = Object.entries(oauthNextSteps).flatMap(([name, nextStep]) =>
  nextStep === undefined ? [] : [[code(name), oauthErrorStatus[name as OAuthErrorCode], nextStep]],
)
fillTable('errors.md', 'oauth codes', 'code | status | next step', oauthRows, (row) => row)
const faults = Object.values(requestFaults)
fillTable('errors.md', 'malformed requests', 'status | description', faults, ({ status, description }) => [
  status,
  description,
])
writeFileSync(pathOf('conformance.md'), conformancePage())
writeFileSync(pathOf('connections-api.json'), `${JSON.stringify(connectionsApiDocument, null, 2)}\n`)
for (const isAudit of [true, false]) {
  const events = Object.entries<LogEvent>(logEvents).filter(([, { audit }]) => audit === isAudit)
  const place = isAudit ? 'audit events' : 'other events'
  fillTable('observability.md', place, 'event | level | fields | meaning', events, ([name, row]) => [
    code(name),
    row.level,
    codes(row.fields),
    row.meaning,
  ])
}
const metrics = Object.entries(metricTable)
fillTable('observability.md', 'metrics', 'metric | type | labels | meaning', metrics, ([name, row]) => [
  code(name),
  row.type,
  codes(row.labels),
  row.help,
])

const inFirstOrder = await readCommandTable()
const groups = inFirstOrder.map(({ usage }) => usage.split(' ')[0])
const groupIndex = ({ usage }: { usage: string }): number => groups.indexOf(usage.split(' ')[0])
const serverCommands = inFirstOrder.toSorted((one, other) => groupIndex(one) - groupIndex(other))

fillTable('commands.md', 'commands', 'command | what it does', serverCommands, ({ usage, description }) => [
  code(usage),
  description,
])
for (const { command, result } of commandOperations) {
  const { switches = {} } = serverCommands.find(({ usage }) => usage === command.usage) ?? {}
  const flags = Object.entries(switches).map(([flag, text]) => [code(flag), text])
  const { type, properties, required = [], items } = z.toJSONSchema(result, { io: 'input' })
  const facts =
    type === 'array'
      ? { type, ...(items && { items }) }
      : { type: 'object' as const, properties: { ok: {}, ...properties }, required: ['ok', ...required] }
  const flagTable = flags.length > 0 ? `${table('flag | meaning', flags)}\n\n` : ''
  const place = command.usage.replace(/ [<[].*/, '')
  fill('commands.md', place, `${flagTable}${code('--json')} prints ${code(shapeOf(facts))}.`)
}
fillTable('admin.md', 'requests', 'request | what it does | parameters', adminRoutes, (route) => [
  code(`${route.method} ${route.path}`),
  route.summary,
  codes(Object.keys(route.input.shape).filter((name) => !route.path.includes(`{${name}}`))),
])

/** Writes a JSON schema as a shape: \`{ ok, grants: [{ id, email? }] }\`. */
function shapeOf(schema: z.core.JSONSchema.BaseSchema): string {
  const { type, items, properties, anyOf = [] } = schema
  if (type === 'array') return `[${shapeOf((items ?? {}) as typeof schema)}]`.replace(/^\[\]$/, '[...]')
  if (type !== 'object') return anyOf.map((each) => shapeOf(each)).join('')
  const members = Object.entries(properties ?? {}).map(([name, member]) => {
    const shape = shapeOf(member as typeof schema)
    return `${name}${schema.required?.includes(name) ? '' : '?'}${shape === '' || shape === '{  }' ? '' : `: ${shape}`}`
  })
  return `{ ${members.join(', ')} }`
}

fillTable('bridge-reference.md', 'commands', 'command | what it does | `--json`', commandTable, (row) => [
  code(`drawbridge ${row.usage}`),
  row.description,
  row.json === undefined ? 'none' : codes(Object.keys(row.json)),
])
const settingTables = [...new Set(bridgeSettings.map(({ group }) => group))].map((wanted) => {
  const members = bridgeSettings.filter(({ group }) => group === wanted)
  const rows = members.map((setting) => [
    setting.secret ? noFlag : code(flagText(setting)),
    code(variableOf(setting)),
    setting.defaultText,
    setting.doc,
  ])
  return `### ${wanted}\n\n${table('flag | variable | default | meaning', rows)}`
})
fill('bridge-reference.md', 'settings', settingTables.join('\n\n'))
const failures = Object.entries(failureTable)
fillTable('bridge-reference.md', 'failures', 'code | exit | meaning | next step', failures, ([name, row]) => [
  code(name),
  row.exit ?? 1,
  row.meaning,
  row.nextStep.replaceAll('{url}', 'URL'),
])

const serverSample = { name: 'example-com', url: 'https://mcp.example.com/mcp' }
const ways = Object.values(clientTable).flatMap(({ name, ways }) => ways.map((way) => [name, way] as const))
fillTable(
  'clients.md',
  'ways in',
  'client | way | what to open, run or paste | then',
  ways,
  ([name, way]) => [name, wayText(way), code(onOneLine(way)), way.next(serverSample)],
)

function wayText({ kind, place }: ClientWay): string {
  if (kind === 'link') return 'one click'
  if (kind === 'entry') return `JSON in ${place}`
  return place ?? 'command'
}

function onOneLine(way: ClientWay): string {
  const text = way.text(serverSample)
  return way.kind === 'entry' ? JSON.stringify(JSON.parse(text)) : text
}

function flagText(setting: (typeof bridgeSettings)[number]): string {
  const { value, negative } = setting
  return [`${flagOf(setting)}${value === undefined ? '' : ` ${value}`}`, negative].filter(Boolean).join(', ')
}

writeFileSync(fileURLToPath(new URL('../llms.txt', import.meta.url)), llmsText())
