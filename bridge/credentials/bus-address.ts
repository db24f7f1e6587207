import { lstatSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Where the session bus of this user is, when the environment does not say: clients start their servers without it, and
 * then no keychain library finds the Secret Service that runs. Undefined when it says, when there is none at the usual
 * place, and where there is no such bus. To be set before anything native is loaded.
 */
export function missingBusAddress(
  environment: Readonly<Record<string, string | undefined>>,
  user: number | undefined,
): string | undefined {
  if (process.platform !== 'linux' || environment['DBUS_SESSION_BUS_ADDRESS']) return undefined
  const folder =
    environment['XDG_RUNTIME_DIR'] || (user === undefined ? undefined : `/run/user/${String(user)}`)
  if (folder === undefined) return undefined
  const socket = join(folder, 'bus')
  try {
    return lstatSync(socket).isSocket() ? `unix:path=${socket}` : undefined
  } catch {
    return undefined
  }
}
