import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { definitionList, paragraph } from '@drawbridge/shared/terminal/table.ts'
import { providers } from '../config/provider.ts'
import type { ServerConfig } from '../config/setting-table.ts'
import { storeName } from '../config/store-address.ts'
import { version } from '../config/version.ts'
import type { Served } from '../startup/open-tools.ts'

/** Returns what a person needs to know about a server that has started, with the address to open last. */
export function readyText(config: ServerConfig, served: Served): string {
  const { baseUrl, appUrl, appName, provider, store, access, audit, metricsListen, adminListen } = config
  const { isTrial } = providers[provider]
  const { publicTools } = served
  const steps = isTrial
    ? `  1. Create an account      ${appUrl}
  2. Add to an MCP client   ${baseUrl}/mcp
     and sign in once on the page that it opens.`
    : `  Add to an MCP client   ${baseUrl}/mcp
  and sign in once with your account at ${appName}.`
  const rows = {
    Tools: toolsText(config, served),
    'Open to all': publicTools.size > 0 && `${[...publicTools].join(', ')}, without signing in`,
    'Look around': `curl -i ${baseUrl}/mcp`,
    '': `curl ${baseUrl}/.well-known/oauth-authorization-server`,
    'Kept in': `${storeName(store)}${store.kind === 'memory' ? ': everything is forgotten at the end' : ''}`,
    'Mail, codes': isTrial && `${appUrl}/mail`,
    'Signed in by': !isTrial && config.providerUrl,
    'Access rules': access,
    'Audit file': audit,
    Metrics: metricsListen && `http://${hostOf(metricsListen)}/metrics`,
    'Admin API': adminListen && `http://${hostOf(adminListen)}`,
    Note: portNote(config),
    'Check it all': !isTrial && 'drawbridge-server doctor',
  }
  const shown = Object.entries(rows).flatMap(([name, text]): [string, string][] =>
    text ? [[name.padEnd(nameWidth), text]] : [],
  )
  return `Drawbridge ${version} is ready.

${steps}

${definitionList(shown, Infinity)}
${isTrial ? `\n${paragraph(trialNote)}\n` : ''}
  Open ${baseUrl}/

`
}

/** The longest name, so that all lines of all servers align. */
const nameWidth = 13

const trialNote =
  'For trying things out only: the embedded session provider, its stand-ins for Google and for the single sign-on of company.example, and the demo web app run in this process, on loopback. NODE_ENV=production refuses them.'

function toolsText({ tools: path }: ServerConfig, { upstream, module }: Served): string {
  if (upstream !== undefined) return `those of ${upstream}`
  const { tools = [], scopes = {}, register } = module ?? {}
  const [first = '', ...more] = tools.map(({ name }) => name)
  const counted =
    path === undefined
      ? `${first}${more.length > 0 ? ` and ${more.length} more` : ''}`
      : `${path}: ${count(tools.length, 'tool')}`
  // The scopes of all tools, with `mcp`, which every client requests.
  const scopeCount = Object.keys(scopes).length + 1
  return `${counted}${register ? ' and what it registers' : ''}, ${count(scopeCount, 'scope')}`
}

/** Returns a note about a loopback base URL with another port: correct behind a proxy, otherwise a mistake. */
function portNote({ baseUrl, listen }: ServerConfig): string | undefined {
  const { hostname, port, protocol } = new URL(baseUrl)
  const basePort = Number(port || (protocol === 'https:' ? 443 : 80))
  return isLoopbackHostname(hostname) && basePort !== listen.port
    ? `BASE_URL has port ${basePort}, and the server listens on ${listen.port}. Without a proxy between them, set both --listen and --base-url.`
    : undefined
}

function hostOf({ host, port }: { host: string; port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
