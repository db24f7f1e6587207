import { lstatSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Returns the address of this user's session bus when the environment lacks it: clients start their servers without it, and
 * no keychain library then finds the running Secret Service. Set it before loading native code.
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
