import type { Launch, LaunchFlag } from './client.ts'
import { InstallError } from './install-error.ts'
import { refuseSecrets } from './secret-argument.ts'

/** What an entry starts. */
export interface LaunchRequest {
  node: string
  launcher: string
  serverUrl: string
  flags: readonly LaunchFlag[]
  environment: Readonly<Record<string, string | undefined>>
}

/** Paths, not secrets, without which the bridge would look for its logins elsewhere: most clients pass no others on. */
const passedOn = ['DRAWBRIDGE_HOME', 'DRAWBRIDGE_KEY_FILE'] as const

/** Variables of an entry that an installer sets, and removes again when they are not needed. */
export const managedVariables: readonly string[] = passedOn

/**
 * The command of an entry. Throws {@link InstallError} for a secret, and for an argument with a blank: clients on Windows
 * split those at it. The two paths are not looked at.
 */
export function createLaunch(request: LaunchRequest): Launch {
  const { node, launcher, serverUrl, flags, environment } = request
  refuseSecrets(serverUrl, flags)
  const given = flags.flatMap(({ flag, value }) =>
    value === undefined ? [flag] : [flag, compact(flag, value)],
  )
  for (const argument of [serverUrl, ...given]) refuseBlanks(argument)
  const env = Object.fromEntries(
    passedOn.flatMap((name) => {
      const value = environment[name]
      return value ? [[name, value] as const] : []
    }),
  )
  return { command: node, args: [launcher, serverUrl, ...given], env }
}

/** `Name: value` means the same without the blank. */
function compact(flag: string, value: string): string {
  return flag === '--header' ? value.replace(/^([^:\s]+):[ \t]+/, '$1:') : value
}

function refuseBlanks(argument: string): void {
  // oxlint-disable-next-line no-control-regex
  if (!/[\s\u0000-\u001F\u007F]/.test(argument)) return
  throw new InstallError(
    'usage',
    `The argument ${JSON.stringify(argument)} has a blank in it, at which some clients cut it.`,
    'Put headers into a file and give --header-file; every other setting can stand in ~/.drawbridge/config.json.',
  )
}
