import type { Surroundings } from '../../config/config-reader.ts'
import type { SettingTexts } from '../../config/setting-argument.ts'
import type { SettingOrigin } from '@drawbridge/shared/settings/read-settings.ts'
import { asTyped } from '../terminal/program-name.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

/** Checks the version of Node; the launcher refuses older ones. */
export function checkNode(version: string): Finding {
  const [major = 0] = version.split('.').map(Number)
  if (major >= 22) return ok('node', `Node ${version}.`)
  return warn('node', `Node ${version} works, but starts slower than later ones.`, 'Use Node 22 or newer.')
}

/** Reports which settings were given and where, never their values. */
export function checkConfiguration(
  problems: readonly string[],
  warnings: readonly string[],
  names: Readonly<Record<SettingOrigin, readonly string[]>>,
): Finding[] {
  if (problems.length > 0) {
    const fix = 'Every flag: drawbridge doctor --help'
    return problems.map((problem) => fail('configuration', asTyped(problem), fix))
  }
  const places: readonly (readonly [SettingOrigin, string])[] = [
    ['flag', 'by flag'],
    ['variable', 'by variable'],
    ['file', 'in config.json'],
  ]
  const parts = places
    .filter(([origin]) => names[origin].length > 0)
    .map(([origin, where]) => `${where}: ${names[origin].join(', ')}`)
  const text = parts.length === 0 ? 'All defaults.' : `${parts.join('; ')}.`
  const told = warnings.map((warning) => warn('configuration', warning))
  return [ok('configuration', text.charAt(0).toUpperCase() + text.slice(1)), ...told]
}

/** Warns of secrets on the command line, which every user of the computer can see. `${NAME}` is not one. */
export function checkCommandLine(flags: SettingTexts): Finding[] {
  const found: Finding[] = []
  const headers = flags.headers ?? []
  if (headers.some((text) => /^(?:authorization|cookie|[\w-]*(?:key|token|secret)):(?!.*\$\{)/i.test(text))) {
    const fix = "Put it into a variable: --header 'Authorization: Bearer ${TOKEN}', or use --header-file."
    found.push(warn('command_line', 'A header on the command line looks like a secret.', fix))
  }
  const client = flags.staticClient?.[0] ?? ''
  if (/"client_secret"\s*:\s*"(?!\$\{)/.test(client)) {
    const fix = 'Put it into a file of your own: --static-oauth-client-info @FILE.'
    found.push(warn('command_line', 'A client secret is on the command line.', fix))
  }
  return found
}

const tooFarSeconds = 300
const noticeableSeconds = 30

/** Compares the clocks: both sides compute the end of a token with their own. */
export function checkClock(serverDate: number | undefined, now: number): Finding[] {
  if (serverDate === undefined) return []
  const off = Math.abs(serverDate - now)
  if (off < noticeableSeconds) return [ok('clock', 'This computer and the server agree on the time.')]
  const text = `The clocks of this computer and the server are ${off} s apart.`
  const fix = 'Set the clock of this computer from the network.'
  return [off >= tooFarSeconds ? fail('clock', text, fix) : warn('clock', text, fix)]
}

/** Warns of a configuration file that others can read. */
export function checkFileMode(
  path: string,
  mode: number | undefined,
  platform: Surroundings['platform'],
): Finding[] {
  if (mode === undefined || platform === 'win32' || (mode & 0o077) === 0) return []
  return [warn('configuration', `${path} can be read by others, and may hold secrets.`, `chmod 600 ${path}`)]
}
