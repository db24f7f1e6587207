import type { ServerConfig } from '../config/setting-table.ts'
import type { Served } from '../startup/open-tools.ts'

/** Returns the tools and scopes for the ready text. */
export function toolsText(
  config: Pick<ServerConfig, 'tools'>,
  { upstream, module }: Pick<Served, 'upstream' | 'module'>,
): string {
  if (upstream !== undefined) return `those of ${upstream}`
  const { tools = [], scopes = {}, register } = module ?? {}
  const names = tools.map(({ name }) => name)
  const counted =
    config.tools === undefined
      ? names.slice(0, 1).join('') + (names.length > 1 ? ` and ${names.length - 1} more` : '')
      : `${config.tools}: ${count(names.length, 'tool')}`
  // The scopes of all tools, with `mcp`, which every client requests.
  const scopeCount = Object.keys(scopes).length + 1
  return `${counted}${register ? ' and what it registers' : ''}, ${count(scopeCount, 'scope')}`
}

export function publicToolsLine(names: ReadonlySet<string>): string {
  return names.size > 0 ? `  Open to all    ${[...names].join(', ')}, without signing in\n` : ''
}

/** Returns the lines for features that are off by default. */
export function optionLines({
  access,
  audit,
  metricsListen,
  adminListen,
}: Pick<ServerConfig, 'access' | 'audit' | 'metricsListen' | 'adminListen'>): string {
  return [
    access === undefined ? '' : `  Access rules   ${access}\n`,
    audit === undefined ? '' : `  Audit file     ${audit}\n`,
    metricsListen ? `  Metrics        http://${hostOf(metricsListen)}/metrics\n` : '',
    adminListen ? `  Admin API      http://${hostOf(adminListen)}\n` : '',
  ].join('')
}

function hostOf({ host, port }: { host: string; port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
