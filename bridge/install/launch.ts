import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Launch } from '@drawbridge/shared/clients/config-shape.ts'
import type { LaunchFlag } from './client.ts'
import { InstallError } from './install-error.ts'

const secretHeader =
  /^(?:proxy-)?authorization$|cookie|token|secret|password|api[-_]?key|credential|signature/i
const secretParameter = /token|secret|password|passwd|api[-_]?key|signature|^(?:key|sig|auth|code)$/i

/**
 * Refuses what would put a secret into the file of a client, in clear and often in backups and git, with
 * {@link InstallError}. It knows secrets by their names only. Nothing of a value is in the message.
 */
function refuseSecrets(serverUrl: string, flags: readonly LaunchFlag[]): void {
  refuseInUrl('The URL of the server', serverUrl)
  for (const { flag, value = '' } of flags) refuseInFlag(flag, value)
}

function refuseInFlag(flag: string, value: string): void {
  const [name = ''] = value.split(/[:=]/)
  if (flag === '--header' && secretHeader.test(name.trim())) {
    refuse(
      `--header ${name.trim()}`,
      'Leave it out: the bridge signs in by itself. For a token you have, drawbridge token set keeps it; for another secret header, --header-file names a file that only you can read.',
    )
  }
  if (flag === '--token') refuse(flag, 'Run drawbridge token set, which keeps it sealed.')
  if (flag === '--authorize-param' && secretParameter.test(name)) {
    refuse(`${flag} ${name}`, 'Put it into ~/.drawbridge/config.json, which only you can read.')
  }
  const secretMember = flag.startsWith('--static-oauth-') && !value.startsWith('@') && hasSecretMember(value)
  if (secretMember) {
    refuse(
      `The client_secret in ${flag}`,
      `Put the JSON into a file that only you can read and give ${flag} @FILE.`,
    )
  }
  if (/^https?:\/\//i.test(value)) refuseInUrl(flag, value)
}

function hasSecretMember(json: string): boolean {
  const value = parseJsonObject(json)
  // What is no JSON is refused elsewhere; here it is doubtful, and doubt is no reason to print it into a file.
  return value === undefined ? /secret/i.test(json) : isJsonObject(value) && 'client_secret' in value
}

function refuseInUrl(what: string, url: string): void {
  if (!URL.canParse(url)) return
  const { username, password, searchParams } = new URL(url)
  if (password !== '' || username !== '') {
    const nextStep =
      what === '--proxy'
        ? 'Give the proxy with its password in ~/.drawbridge/config.json, which only you can read.'
        : 'Leave out the user name and password: the bridge signs in by itself.'
    refuse(`${what} with a user name or password`, nextStep)
  }
  const parameter = [...searchParams.keys()].find((name) => secretParameter.test(name))
  if (parameter === undefined) return
  refuse(
    `${what} with the parameter ${JSON.stringify(parameter)}`,
    'Leave the parameter out and let the bridge sign in, or write the entry by hand.',
  )
}

function refuse(what: string, nextStep: string): never {
  throw new InstallError('secret', `${what} would stand in clear in the file of the client.`, nextStep)
}

/** What an entry starts. */
interface LaunchRequest {
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
