import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Launch } from '@drawbridge/shared/clients/config-shape.ts'
import type { LaunchFlag } from './client.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

const secretHeader =
  /^(?:proxy-)?authorization$|cookie|token|secret|password|api[-_]?key|credential|signature/i
const secretParameter = /token|secret|password|passwd|api[-_]?key|signature|^(?:key|sig|auth|code)$/i

function refuseInFlag(flag: string, value: string): void {
  const [name = ''] = value.split(/[:=]/)
  if (flag === '--header' && secretHeader.test(name.trim())) {
    refuse(
      `--header ${name.trim()}`,
      'Remove it: the bridge signs in by itself. To use a token you have, run drawbridge token set; for another secret header, use --header-file with a file that only you can read.',
    )
  }
  if (flag === '--token') refuse(flag, 'Run drawbridge token set, which encrypts it.')
  if (flag === '--authorize-param' && secretParameter.test(name)) {
    refuse(`${flag} ${name}`, 'Put it into ~/.drawbridge/config.json, which only you can read.')
  }
  const secretMember = flag.startsWith('--static-oauth-') && !value.startsWith('@') && hasSecretMember(value)
  if (secretMember) {
    refuse(
      `The client_secret in ${flag}`,
      `Put the JSON into a file that only you can read, and use ${flag} @FILE.`,
    )
  }
  if (/^https?:\/\//i.test(value)) refuseInUrl(flag, value)
}

function hasSecretMember(json: string): boolean {
  const value = parseJsonObject(json)
  // Invalid JSON is rejected elsewhere; when in doubt, do not write it to a file.
  return value === undefined ? /secret/i.test(json) : isJsonObject(value) && 'client_secret' in value
}

function refuseInUrl(what: string, url: string): void {
  if (!isUrl(url)) return
  const { username, password, searchParams } = new URL(url)
  if (password !== '' || username !== '') {
    const nextStep =
      what === '--proxy'
        ? 'Set the proxy with its password in ~/.drawbridge/config.json, which only you can read.'
        : 'Remove the user name and password: the bridge signs in by itself.'
    refuse(`${what} with a user name or password`, nextStep)
  }
  const parameter = [...searchParams.keys()].find((name) => secretParameter.test(name))
  if (parameter === undefined) return
  refuse(
    `${what} with the parameter ${JSON.stringify(parameter)}`,
    'Remove the parameter and let the bridge sign in, or write the entry by hand.',
  )
}

function refuse(what: string, nextStep: string): never {
  throw new ConfigError([`${what} would be stored as plain text in the client's file.`], nextStep)
}

/**
 * The variable that an installer sets in an entry, and removes if it is not set now. Without it the bridge would look for its
 * logins elsewhere: most clients do not pass variables on.
 */
export const managedVariable = 'DRAWBRIDGE_HOME'

/**
 * Builds the command of an entry. Refuses blanks, at which clients on Windows split arguments, and to write a secret into a client's file, as
 * plain text and often in backups and git, with {@link ConfigError}. Recognizes secrets only by name. The message contains no values.
 */
export function createLaunch({
  node,
  launcher,
  serverUrl,
  flags,
  environment,
}: {
  node: string
  launcher: string
  serverUrl: string
  flags: readonly LaunchFlag[]
  environment: Readonly<Record<string, string | undefined>>
}): Launch {
  refuseInUrl('The URL of the server', serverUrl)
  for (const { flag, value = '' } of flags) refuseInFlag(flag, value)
  const given = flags.flatMap(({ flag, value }) => {
    // `Name:value` means the same without its blank.
    const compact = flag === '--header' ? value?.replace(/^([^:\s]+):[ \t]+/, '$1:') : value
    return compact === undefined ? [flag] : [flag, compact]
  })
  for (const argument of [serverUrl, ...given]) refuseBlanks(argument)
  const home = environment[managedVariable]
  const env = home ? { [managedVariable]: home } : {}
  return { command: node, args: [launcher, serverUrl, ...given], env }
}

function refuseBlanks(argument: string): void {
  // oxlint-disable-next-line no-control-regex
  if (!/[\s\u0000-\u001F\u007F]/.test(argument)) return
  throw new ConfigError(
    [`The argument ${JSON.stringify(argument)} contains a blank, at which some clients split it.`],
    'Put headers into a file and use --header-file; put any other setting into ~/.drawbridge/config.json.',
  )
}
