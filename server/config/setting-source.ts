import {
  type FoundSetting,
  gatherSettings,
  type GivenSetting,
  unknownVariables,
} from '@drawbridge/shared/settings/read-settings.ts'
import { flagOf, variableOf } from '@drawbridge/shared/settings/setting.ts'
import { suggestion } from '@drawbridge/shared/nearest-name.ts'
import type { VariablePlaces } from './env-file.ts'
import { parsePort } from './config-value.ts'
import { type Setting, type Settings, settings } from './setting-table.ts'

/** Settings as text, what a message calls each setting, and the faults that are already known. */
export interface SettingSources {
  given: readonly GivenSetting<Setting>[]
  name: (setting: Setting) => string
  problems: readonly string[]
}

/** Settings of a command line and its environment. */
export interface ReadSettings extends SettingSources {
  given: readonly FoundSetting<Setting>[]
}

type Texts = Readonly<Record<string, string | undefined>>

/**
 * Settings from flags, else variables, of which `places` came from a file. An unknown variable with our prefix is a fault. Without
 * LISTEN, the variable PORT says where to listen, as platforms set it.
 */
export function readSettings(
  flags: Texts,
  environment: Texts,
  places: VariablePlaces = new Map(),
): ReadSettings {
  const texts = Object.entries(flags).map(([field, text]) => [field, text === undefined ? undefined : [text]])
  const placed = (variable: string): string => variable + (places.get(variable) ?? '')
  const given = gatherSettings(settings, Object.fromEntries(texts), environment)
  const port = environment['PORT'] ?? ''
  const listen = settings.find(({ field }) => field === 'listen')
  if (listen && port !== '' && !given.some(({ setting }) => setting === listen)) {
    const setting = Object.assign({}, listen, { parse: parsePort })
    given.push({ setting, texts: [port], origin: 'variable', name: 'PORT' })
  }
  for (const found of given.filter(({ name }) => places.has(name)))
    Object.assign(found, { origin: 'file', name: placed(found.name) })
  return {
    given,
    name: (row) => given.find(({ setting }) => setting.field === row.field)?.name ?? placed(variableOf(row)),
    problems: [
      ...exposedPasswords(flags),
      ...unknownVariables('server', environment).map((problem) => problem.replace(/^\w+/, placed)),
    ],
  }
}

/** Settings that a program passes by field. An unknown field is a fault. */
export function settingsOfObject(object: Settings): SettingSources {
  const fields: string[] = settings.map(({ field }) => field)
  return {
    given: settings.flatMap((setting) => {
      const text: unknown = object[setting.field]
      return text === undefined ? [] : [{ setting, texts: [text], name: setting.field }]
    }),
    name: ({ field }) => field,
    problems: Object.keys(object)
      .filter((field) => !fields.includes(field))
      .map((field) => `${field}: there is no such setting.${suggestion(field, fields)}`),
  }
}

/** Matches a URL with a password. */
export const holdsPassword: RegExp = /^[a-z]+:\/\/(?:[^/@]*:[^/@]+@|.*[?&]password=)/i

/** Flags whose value holds a password: a command line is visible to every user of the machine. */
function exposedPasswords(flags: Texts): string[] {
  return settings
    .filter(({ field }) => holdsPassword.test(flags[field] ?? ''))
    .map((setting) => `${flagOf(setting)}: holds a password. Give it as ${variableOf(setting)}.`)
}

/**
 * Returns whether `NODE_ENV` means production, in any common spelling: a capital letter must not start the embedded provider
 * there.
 */
export function isProduction(environment: Texts): boolean {
  return /^prod(?:uction)?$/i.test(environment['NODE_ENV']?.trim() ?? '')
}
