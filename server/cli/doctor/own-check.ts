import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { ServerConfig } from '../../config/setting.ts'
import { fail, type Finding, ok, warn } from '@drawbridge/shared/terminal/finding.ts'

const oldestNode = [22, 13] as const

/** Whether this Node is new enough; the launcher has said so to those that are far too old. */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor, oldestMinor] = oldestNode
  const isEnough = major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
  return isEnough
    ? ok('node', `Node ${version}.`)
    : fail('node', `Node ${version} is too old.`, `Install Node ${oldestNode.join('.')} or newer.`)
}

/** Whether clients are told apart by their addresses: behind a proxy only when it is named. */
export function checkProxies({
  baseUrl,
  trustedProxies,
}: Pick<ServerConfig, 'baseUrl' | 'trustedProxies'>): Finding {
  const name = 'trusted-proxies'
  if (trustedProxies.length > 0) {
    return ok(name, `X-Forwarded-For of ${trustedProxies.join(', ')} names the address of a client.`)
  }
  const { protocol, hostname } = new URL(baseUrl)
  if (protocol === 'http:' && isLoopbackHostname(hostname)) {
    return ok(name, 'Clients connect without a proxy, as BASE_URL is on this computer.')
  }
  return warn(
    name,
    'Something in front of this server speaks https, and none is trusted to name the address of a client: limits per address do not hold.',
    'Set DRAWBRIDGE_TRUSTED_PROXIES to its address, such as 127.0.0.1 or 10.0.0.0/8.',
  )
}

/** Where a setting came from. */
export type SettingSource = 'flag' | 'variable' | 'default'

/** Every fault of the configuration, or where its settings came from. `given` names those without a default by source. */
export function checkConfiguration(
  problems: readonly string[],
  given: Readonly<Record<'flag' | 'variable', readonly string[]>>,
): Finding[] {
  const name = 'configuration'
  if (problems.length > 0) {
    return problems.map((problem) =>
      fail(name, problem, 'Every setting: drawbridge-server serve --help, or docs/configuration.md'),
    )
  }
  const parts = (['flag', 'variable'] as const)
    .filter((source) => given[source].length > 0)
    .map((source) => `${given[source].join(', ')} (${source})`)
  const named =
    parts.length === 0
      ? 'Every setting has its default.'
      : `${parts.join(', ')}; all others have their defaults.`
  return [ok(name, named)]
}
