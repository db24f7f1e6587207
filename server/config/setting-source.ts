import { nearestName } from '@drawbridge/shared/nearest-name.ts'
import { bridgeVariables } from '../../shared/settings/program-variables.ts'
import { flagOf, type Setting, type Settings, variablePrefix } from './setting.ts'
import { settings } from './setting-table.ts'

/** Settings as text, how a fault calls each, and the faults that are already known. */
export interface SettingSources {
  given: Settings
  name: (setting: Setting) => string
  problems: readonly string[]
}

const variables = settings.map(({ variable }) => variable)

/**
 * Settings from flags over environment. A variable with our prefix that names no setting is a fault, with the nearest
 * name beside it: a misspelt setting must not be silently ignored. The settings of the bridge are none of ours.
 */
export function readSettings(
  flags: Readonly<Record<string, string | undefined>>,
  environment: Readonly<Record<string, string | undefined>>,
): SettingSources {
  const given: Settings = {}
  const fromFlag = new Set<string>()
  for (const setting of settings) {
    const flag = flags[setting.field]
    // An empty variable counts as not set: that is how shells and compose files unset one.
    const value = flag ?? (environment[variablePrefix + setting.variable] || undefined)
    if (flag !== undefined) fromFlag.add(setting.field)
    if (value !== undefined) given[setting.field] = value
  }
  return {
    given,
    name: (setting) => (fromFlag.has(setting.field) ? flagOf(setting) : variablePrefix + setting.variable),
    problems: [
      ...exposedPasswords(flags),
      ...Object.keys(environment)
        .filter((variable) => variable.startsWith(variablePrefix))
        .map((variable) => variable.slice(variablePrefix.length))
        .filter((variable) => !variables.includes(variable) && !bridgeVariables.has(variable))
        .map((variable) => {
          const meant = nearestName(variable, variables)
          const question = meant === undefined ? '' : ` Did you mean ${variablePrefix}${meant}?`
          return `${variablePrefix}${variable}: there is no such setting.${question}`
        }),
    ],
  }
}

const holdsPassword = /^[a-z]+:\/\/(?:[^/@]*:[^/@]+@|.*[?&]password=)/i

/** Flags whose value holds a password: a command line is visible to every user of the machine. */
function exposedPasswords(flags: Readonly<Record<string, string | undefined>>): string[] {
  return settings
    .filter(({ field }) => holdsPassword.test(flags[field] ?? ''))
    .map(
      (setting) => `${flagOf(setting)}: holds a password. Give it as ${variablePrefix}${setting.variable}.`,
    )
}

/**
 * Whether `NODE_ENV` says that this is production, in any of the ways people write it. The embedded provider must not start
 * there because of a capital letter.
 */
export function isProduction(environment: Readonly<Record<string, string | undefined>>): boolean {
  return /^prod(?:uction)?$/i.test(environment['NODE_ENV']?.trim() ?? '')
}
