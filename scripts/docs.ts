// Generates the documents that are based on a table in the code.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { type OAuthErrorCode, oauthErrorStatus } from '@drawbridge/shared/oauth/oauth-error.ts'
import { commandTable } from '../bridge/cli/command-line/command-table.ts'
import { failureTable } from '../bridge/cli/failure/failure-table.ts'
import { clientTable, type ClientWay } from '@drawbridge/shared/clients/client-table.ts'
import { flagOf, variableOf, variablePrefix } from '@drawbridge/shared/settings/setting.ts'
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

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cellText).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** Markdown shows text between backticks unchanged, except for the end of a cell. */
function cellText(cell: string): string {
  return cell
    .replaceAll('|', String.raw`\|`)
    .replaceAll(/`[^`]*`|</g, (found) => (found === '<' ? '&lt;' : found))
}

function write(name: string, text: string): void {
  writeFileSync(documentPath(name), text)
}

function documentPath(name: string): string {
  return fileURLToPath(new URL(`../docs/${name}`, import.meta.url))
}

/**
 * Puts `text` between the comment that names `place` and the next `<!-- end -->` of an otherwise hand-written
 * document.
 */
function fill(name: string, place: string, text: string): void {
  const document = readFileSync(documentPath(name), 'utf8')
  const [before, after] = document.split(`<!-- ${place} -->`)
  const end = after?.indexOf('<!-- end -->') ?? -1
  if (before === undefined || after === undefined || end < 0) {
    throw new Error(`docs/${name} has no place for ${place}.`)
  }
  write(name, `${before}<!-- ${place} -->\n\n${text}\n\n${after.slice(end)}`)
}

function eventTable(wanted: (row: LogEvent) => boolean): string {
  const rows = Object.entries(logEvents).filter(([, row]) => wanted(row))
  return table(
    ['event', 'level', 'fields', 'meaning'],
    rows.map(([name, { level, fields, meaning }]) => [
      `\`${name}\``,
      level,
      fields.map((field) => `\`${field}\``).join(', '),
      meaning,
    ]),
  )
}

write(
  'configuration.md',
  `# Configuration of drawbridge-server

Made by \`npm run docs\` from the table of settings in \`server/config/setting-table.ts\`.

Pages name a setting without its prefix: \`AUDIT\` is the variable \`DRAWBRIDGE_AUDIT\` and the flag \`--audit\`. A flag wins over its
variable, the variable over the default. An unknown variable with the prefix \`${variablePrefix}\` is
a mistake, and so is a setting whose file cannot be used. All mistakes are reported together, under the name you used for
the setting (exit code 2). Files can begin with a byte order mark. \`createDrawbridge\` takes the same settings by field
name, each as a string. Durations are whole seconds, or a number with a unit: 90, 15m, 1h or 30d. Switches are
on or off; true, false, 1 and 0 are accepted as well.

${table(
  ['variable', 'flag', 'field', 'default', 'meaning'],
  settings.map((setting) => [
    `\`${variableOf(setting)}\``,
    setting.secret ? 'none: it would be visible to others' : `\`${flagOf(setting)}\``,
    `\`${setting.field}\``,
    setting.defaultText,
    setting.doc,
  ]),
)}
`,
)

write(
  'errors.md',
  `# What goes wrong, and the next step

Made by \`npm run docs\` from the tables in \`server/http\` and \`shared/oauth/oauth-error.ts\`.

## Errors of this server

Programs get them as JSON with \`error\` and \`error_description\` (RFC 6749 section 5.2), browsers as a page. The log has the reason, under
the request id on the page.

${table(
  ['code', 'status', 'page', 'next step'],
  Object.entries(errorTable).map(([reason, { status, title, nextStep }]) => [
    `\`${reason}\``,
    String(status),
    title,
    nextStep,
  ]),
)}

## What the login page says

${table(
  ['failure', 'status', 'text'],
  Object.entries(english.failures).map(([failure, text]) => [
    `\`${failure}\``,
    String(statusOf({ reason: failure as SignInReason })),
    text,
  ]),
)}

## OAuth codes a client gets

JSON with \`error\` and \`error_description\` (RFC 6749 section 5.2), or the same as parameters of the redirect.

${table(
  ['code', 'status', 'next step'],
  Object.entries(oauthNextSteps).flatMap(([code, nextStep]) =>
    nextStep === undefined
      ? []
      : [[`\`${code}\``, String(oauthErrorStatus[code as OAuthErrorCode]), nextStep]],
  ),
)}

## Malformed requests

All of them are \`invalid_request\`, and most are refused before anything else is checked.

${table(
  ['status', 'description'],
  Object.values(requestFaults).map(({ status, description }) => [String(status), description]),
)}
`,
)

write('conformance.md', conformancePage())

fill(
  'observability.md',
  'audit events',
  eventTable(({ audit }) => audit),
)
fill(
  'observability.md',
  'other events',
  eventTable(({ audit }) => !audit),
)
fill(
  'observability.md',
  'metrics',
  table(
    ['metric', 'type', 'labels', 'meaning'],
    Object.entries(metricTable).map(([name, { type, labels, help }]) => [
      `\`${name}\``,
      type,
      labels.map((label) => `\`${label}\``).join(', '),
      help,
    ]),
  ),
)

const inFirstOrder = await readCommandTable()
const groups = inFirstOrder.map(({ usage }) => usage.split(' ')[0])
const groupIndex = ({ usage }: { usage: string }): number => groups.indexOf(usage.split(' ')[0])
const serverCommands = inFirstOrder.toSorted((one, other) => groupIndex(one) - groupIndex(other))

fill(
  'commands.md',
  'commands',
  table(
    ['command', 'what it does'],
    serverCommands.map(({ usage, description }) => [`\`${usage}\``, description]),
  ),
)
for (const { command, result } of commandOperations) {
  const { switches = {} } = serverCommands.find(({ usage }) => usage === command.usage) ?? {}
  const flags = Object.entries(switches).map(([flag, text]) => [`\`${flag}\``, text])
  const { type, properties, required = [], items } = z.toJSONSchema(result, { io: 'input' })
  const facts =
    type === 'array'
      ? { type, ...(items && { items }) }
      : { type: 'object' as const, properties: { ok: {}, ...properties }, required: ['ok', ...required] }
  fill(
    'commands.md',
    command.usage.replace(/ [<[].*/, ''),
    [
      ...(flags.length > 0 ? [table(['flag', 'meaning'], flags)] : []),
      `\`--json\` prints \`${shapeOf(facts)}\`.`,
    ].join('\n\n'),
  )
}
fill(
  'admin.md',
  'requests',
  table(
    ['request', 'what it does', 'parameters'],
    adminRoutes.map(({ method, path, summary, input }) => [
      `\`${method} ${path}\``,
      summary,
      Object.keys(input.shape)
        .filter((name) => !path.includes(`{${name}}`))
        .map((name) => `\`${name}\``)
        .join(', '),
    ]),
  ),
)

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

fill(
  'bridge-reference.md',
  'commands',
  table(
    ['command', 'what it does', '`--json`'],
    commandTable.map(({ usage, description, json }) => [
      `\`drawbridge ${usage}\``,
      description,
      json === undefined
        ? 'none'
        : Object.keys(json)
            .map((member) => `\`${member}\``)
            .join(', '),
    ]),
  ),
)
fill(
  'bridge-reference.md',
  'settings',
  [...new Set(bridgeSettings.map(({ group }) => group))]
    .map(
      (wanted) =>
        `### ${wanted}\n\n${table(
          ['flag', 'variable', 'default', 'meaning'],
          bridgeSettings
            .filter(({ group }) => group === wanted)
            .map((setting) => [
              setting.secret ? 'none: it would be visible to others' : `\`${flagText(setting)}\``,
              `\`${variableOf(setting)}\``,
              setting.defaultText,
              setting.doc,
            ]),
        )}`,
    )
    .join('\n\n'),
)
fill(
  'bridge-reference.md',
  'failures',
  table(
    ['code', 'exit', 'meaning', 'next step'],
    Object.entries(failureTable).map(([code, { meaning, nextStep, exit = 1 }]) => [
      `\`${code}\``,
      String(exit),
      meaning,
      nextStep.replaceAll('{url}', 'URL'),
    ]),
  ),
)

const serverSample = { name: 'example-com', url: 'https://mcp.example.com/mcp' }

fill(
  'clients.md',
  'ways in',
  table(
    ['client', 'way', 'what to open, run or paste', 'then'],
    Object.values(clientTable).flatMap(({ name, ways }) =>
      ways.map((way) => [name, wayText(way), `\`${onOneLine(way)}\``, way.next(serverSample)]),
    ),
  ),
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

/** Builds the map of the documentation in the llmstxt.org format: each page of docs/README.md with its purpose. */
function llmsText(): string {
  const read = (name: string): string =>
    readFileSync(fileURLToPath(new URL(`../${name}`, import.meta.url)), 'utf8')
  const summary = /^# [^\n]+\n\n(.+?)\n\n/s.exec(read('README.md'))?.[1]?.replaceAll('\n', ' ') ?? ''
  const [start = '', ...sections] = read('docs/README.md').split(/^## /m)
  const item = (name = '', path = '', what = ''): string =>
    `- [${name}](${new URL(path, 'file:///docs/').pathname.slice(1)}): ${what}`
  const quickstarts = [...start.matchAll(/^\| (.+) \| \[(.+?)\]\((.+?)\) \|$/gm)].map(([, who, name, path]) =>
    item(name, path, `you have ${who}`),
  )
  const first = [
    item('The first hour', 'first-hour.md', 'from a clone to the first tool call in production'),
    ...quickstarts,
  ]
  const lists = sections.map((section) => {
    const rows = [...section.matchAll(/^\| (\[.+\)) \| (.+) \|$/gm)]
    const items = rows.flatMap(([, links = '', what]) =>
      [...links.matchAll(/\[(.+?)\]\((.+?)\)/g)].map(([, name, path]) => item(name, path, what)),
    )
    return `## ${section.split('\n')[0]}\n\n${items.join('\n')}\n`
  })
  return `# Drawbridge\n\n> ${summary}\n\n## Start\n\n${first.join('\n')}\n\n${lists.join('\n')}`
}

writeFileSync(fileURLToPath(new URL('../llms.txt', import.meta.url)), llmsText())
