import { isJsonObject, type JsonObject } from '../json-object.ts'
import { nearestName, suggestion } from '../nearest-name.ts'
import { programVariables } from './program-variables.ts'
import { flagOf, type Setting, variableOf, variablePrefix } from './setting.ts'
import { splitAt } from './value.ts'

/** Source of a setting. */
export type SettingOrigin = 'flag' | 'variable' | 'file'

/** One setting as text, or several texts for a repeatable one. `name` is its name in messages. */
export interface GivenSetting<Row> {
  setting: Row
  texts: readonly unknown[]
  name: string
}

/** A setting with its source. */
export interface FoundSetting<Row> extends GivenSetting<Row> {
  origin: SettingOrigin
}

/** Settings from a file, by name. */
export interface Section {
  /** Name of the section in messages. */
  name: string
  values: JsonObject
}

type Environment = Readonly<Record<string, string | undefined>>
type Named = Pick<Setting, 'field' | 'name' | 'variable' | 'repeats' | 'notInFile'>

/** Collects the settings: each from its flag, or else its variable, or else the first of `sections` that has it. */
export function gatherSettings<Row extends Named>(
  settings: readonly Row[],
  flags: Readonly<Record<string, readonly string[] | undefined>>,
  environment: Environment,
  sections: readonly Section[] = [],
): FoundSetting<Row>[] {
  return settings.flatMap((setting): FoundSetting<Row>[] => {
    const { field, repeats } = setting
    const flag = flags[field]
    if (flag !== undefined) return [{ setting, texts: flag, origin: 'flag', name: flagOf(setting) }]
    // An empty variable counts as not set: that is how shells and compose files unset one.
    const variable = environment[variableOf(setting)] ?? ''
    if (variable !== '') {
      const texts = repeats === undefined ? [variable] : splitAt(variable, repeats.separator)
      return [{ setting, texts, origin: 'variable', name: variableOf(setting) }]
    }
    const section = sections.find(({ values }) => Object.hasOwn(values, setting.name))
    if (section === undefined || setting.notInFile) return []
    const texts = textsOf(setting, section.values[setting.name])
    return [{ setting, texts, origin: 'file', name: `${setting.name} of ${section.name}` }]
  })
}

/** Returns the texts of a JSON value: one per item of an array, or per member of an object of pairs. */
function textsOf(setting: Named, value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => textsOf(setting, item))
  const pair = setting.repeats?.pair
  if (isJsonObject(value) && pair !== undefined) {
    return Object.entries(value).map(([name, text]) => name + pair + String(text))
  }
  if (typeof value === 'string') return [value]
  if (typeof value === 'boolean') return [value ? 'on' : 'off']
  return [JSON.stringify(value)]
}

/** Returns a problem for each entry of a file section that cannot be set there. */
export function sectionProblems(settings: readonly Named[], { name, values }: Section): string[] {
  const names = settings.map((setting) => setting.name)
  return Object.entries(values).flatMap(([key, value]) => {
    const setting = settings.find((row) => row.name === key)
    const label = `${key} of ${name}`
    if (setting === undefined) return [`${label}: there is no such setting.${suggestion(key, names)}`]
    if (setting.notInFile) return [`${label}: cannot be set in a file. Use ${variableOf(setting)}.`]
    return value === null ? [`${label}: expected a value.`] : []
  })
}

/**
 * Returns a sentence for each variable with our prefix that neither program knows: a misspelt setting must not be
 * silently ignored. Does not repeat values, which may be secrets.
 */
export function unknownVariables(program: keyof typeof programVariables, environment: Environment): string[] {
  const own = programVariables[program]
  const known = new Set(Object.values(programVariables).flat())
  return Object.keys(environment)
    .filter((variable) => variable.startsWith(variablePrefix))
    .map((variable) => variable.slice(variablePrefix.length))
    .filter((name) => !known.has(name))
    .map((name) => {
      const meant = nearestName(name, own)
      const question = meant === undefined ? '' : ` Did you mean ${variablePrefix}${meant}?`
      return `${variablePrefix}${name}: there is no such setting.${question}`
    })
}

/** Result of parsing the settings. */
export interface ParsedSettings<Field extends string> {
  values: Partial<Record<Field, unknown>>
  problems: string[]
  /** Settings with invalid values. */
  unusable: Set<Field>
}

/** Parses every text. `shown` decides how a message repeats an invalid text; without it, no text is repeated. */
export function parseSettings<Field extends string, Source = void>(
  given: readonly GivenSetting<Setting<Field, Source>>[],
  source: Source,
  shown?: (text: unknown, setting: Setting<Field, Source>) => string,
): ParsedSettings<Field> {
  const parsed: ParsedSettings<Field> = { values: {}, problems: [], unusable: new Set() }
  for (const { setting, texts, name } of given) {
    try {
      parsed.values[setting.field] = valueOf(setting, texts, source)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      parsed.unusable.add(setting.field)
      const got = shown === undefined ? '' : `; got ${shown(texts[0], setting)}`
      parsed.problems.push(`${name}: ${error.message}${got}.`)
    }
  }
  return parsed
}

/** Returns the values of settings with a default text. */
export function defaultValues<Field extends string, Source = void>(
  settings: readonly Setting<Field, Source>[],
  source: Source,
): Partial<Record<Field, unknown>> {
  const values: Partial<Record<Field, unknown>> = {}
  for (const { field, default: text, parse } of settings) {
    if (text !== undefined) values[field] = parse(text, source)
  }
  return values
}

function valueOf<Source>(
  { parse, repeats }: Setting<string, Source>,
  texts: readonly unknown[],
  source: Source,
): unknown {
  const values = texts.map((text) => {
    // JavaScript callers may pass anything.
    if (typeof text !== 'string') {
      throw new TypeError('expected a string, as a flag or variable would have it')
    }
    return parse(text, source)
  })
  if (repeats !== undefined) return values
  if (values.length !== 1) throw new TypeError('expected one value')
  return values[0]
}
