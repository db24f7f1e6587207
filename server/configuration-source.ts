import {
  ConfigError,
  createConfig,
  flagOf,
  type Setting,
  type Settings,
  settings,
  variablePrefix,
} from './config.ts'

/**
 * Settings from flags over environment. A variable with our prefix that names no setting is a fault, with the nearest
 * name beside it: a misspelt setting must not be silently ignored. It is told together with every other fault.
 */
export function readSettings(
  flags: Readonly<Record<string, string | undefined>>,
  environment: Readonly<Record<string, string | undefined>>,
): { given: Settings; name: (setting: Setting) => string } {
  const given: Settings = {}
  const fromFlag = new Set<string>()
  for (const setting of settings) {
    const flag = flags[setting.field]
    // An empty variable counts as not set: that is how shells and compose files unset one.
    const value = flag ?? (environment[variablePrefix + setting.variable] || undefined)
    if (flag !== undefined) fromFlag.add(setting.field)
    if (value !== undefined) given[setting.field] = value
  }
  const name = (setting: Setting): string =>
    fromFlag.has(setting.field) ? flagOf(setting) : variablePrefix + setting.variable
  const unknown = unknownVariables(environment)
  if (unknown.length > 0) {
    const production = environment['NODE_ENV'] === 'production'
    throw new ConfigError([...unknown, ...problemsOf(() => createConfig(given, { production }, name))])
  }
  return { given, name }
}

function unknownVariables(environment: Readonly<Record<string, string | undefined>>): string[] {
  return Object.keys(environment)
    .filter((variable) => variable.startsWith(variablePrefix))
    .filter((variable) => !settings.some((setting) => variablePrefix + setting.variable === variable))
    .map((variable) => `${variable}: there is no such setting.${suggestion(variable)}`)
}

function problemsOf(check: () => unknown): readonly string[] {
  try {
    check()
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems
  }
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
