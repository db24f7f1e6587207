import { bridgeVariables } from './bridge-variable.ts'
import { flagOf, type Setting, type Settings, variablePrefix } from './setting.ts'
import { settings } from './setting-table.ts'

/** Settings as text, how a fault calls each, and the faults that are already known. */
export interface SettingSources {
  given: Settings
  name: (setting: Setting) => string
  problems: readonly string[]
}

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
        .filter((variable) => !settings.some((setting) => variablePrefix + setting.variable === variable))
        .filter((variable) => !bridgeVariables.has(variable.slice(variablePrefix.length)))
        .map((variable) => `${variable}: there is no such setting.${suggestion(variable)}`),
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

function suggestion(variable: string): string {
  const names = settings.map((setting) => variablePrefix + setting.variable)
  const nearest = names
    .map((name) => ({ name, distance: editDistance(name, variable) }))
    .sort((a, b) => a.distance - b.distance)[0]
  return nearest && nearest.distance <= 4 ? ` Did you mean ${nearest.name}?` : ''
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min((previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, substitution))
    }
    previous = row
  }
  return previous[b.length] ?? 0
}
