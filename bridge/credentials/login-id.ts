import { createHash } from 'node:crypto'
import type { LoginId } from './credential-store.ts'

/**
 * What the login of one server as one user is stored under. The ways to write the same address give the same id: case of
 * the host, default port, fragment and slashes at the end do not count. `client` and `resource` are those of the
 * configuration, undefined where the server decides. Not checked: that `serverUrl` is http or https.
 */
export function loginId(parts: {
  serverUrl: string
  resource: string | undefined
  client: string | undefined
  profile: string
}): LoginId {
  const named = [address(parts.serverUrl), parts.resource ?? null, parts.client ?? null, parts.profile]
  return createHash('sha256').update(JSON.stringify(named)).digest('hex')
}

/** Whether `text` can be the name of a record. Anything else in that folder is not ours. */
export function isLoginId(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text)
}

function address(serverUrl: string): string {
  const url = new URL(serverUrl)
  url.hash = ''
  url.pathname = url.pathname.replace(/\/+$/, '')
  return url.href
}
