import { join } from 'node:path'
import type { BridgeConfig } from '../config/config.ts'
import { version } from '../config/version.ts'
import { loginIdOf } from './connection-login.ts'
import type { DebugLog } from './debug-log.ts'

/** The log of what goes on with one server, when it is wanted. All processes of that login share it. */
export async function openConnectionLog(config: BridgeConfig): Promise<DebugLog | undefined> {
  if (!config.output.debug) return undefined
  const { createDebugLog } = await import('./debug-log.ts')
  const { oauth, proxy, token, credentials } = config
  const secrets = [token, oauth.staticClient?.clientSecret, ...Object.values(proxy.headers)]
  const log = createDebugLog(
    join(credentials.home, 'logs', `${loginIdOf(config).slice(0, 16)}.log`),
    secrets.filter((secret) => secret !== undefined),
  )
  log.note(`drawbridge ${version}, Node ${process.versions.node}, ${process.platform}`)
  return log
}
