import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import type { ValueSource } from './config-value.ts'
import type { SettingTexts } from './setting-argument.ts'
import { suggestion } from '@drawbridge/shared/nearest-name.ts'
import { programVariables } from '@drawbridge/shared/settings/program-variables.ts'
import { settings } from './setting-table.ts'
import { flagOf, type Setting, variableOf, variablePrefix } from './setting.ts'

/** Where a setting was set. */
export type SettingOrigin = 'flag' | 'variable' | 'file'

/** One setting as text, and what a fault calls it. */
export interface GivenSetting {
  setting: Setting
  texts: readonly string[]
  origin: SettingOrigin
  name: string
}

/** What was set, by the strongest source of each, and what is wrong with the sources themselves. */
export interface GivenSettings {
  given: readonly GivenSetting[]
  problems: readonly string[]
  warnings: readonly string[]
}

/**
 * Settings from flags over variables over the section of the configuration file for `serverUrl` over the rest of that file.
 * `file` is its content, undefined when there is none.
 */
export function gatherSettings(
  flags: SettingTexts,
  environment: ValueSource['environment'],
  file: { path: string; content: string } | undefined,
  serverUrl: string | undefined,
): GivenSettings {
  const { sections, problems } = file === undefined ? noSections : readSections(file, serverUrl)
  const given = settings.flatMap((setting): GivenSetting[] => {
    const flag = flags[setting.field]
    if (flag !== undefined) return [{ setting, texts: flag, origin: 'flag', name: flagOf(setting) }]
    // An empty variable counts as not set: that is how shells and compose files unset one.
    const variable = environment[variableOf(setting)] ?? ''
    if (variable !== '') {
      const texts = setting.repeats === undefined ? [variable] : splitAt(variable, setting.repeats.separator)
      return [{ setting, texts, origin: 'variable', name: variableOf(setting) }]
    }
    const section = sections.find((candidate) => Object.hasOwn(candidate.values, setting.name))
    if (section === undefined || setting.notInFile) return []
    const texts = textsOf(setting, section.values[setting.name])
    return [{ setting, texts, origin: 'file', name: `${setting.name} of ${section.name}` }]
  })
  return { given, problems, warnings: unknownVariables(environment) }
}

interface Section {
  name: string
  values: JsonObject
}

const noSections = { sections: [] as readonly Section[], problems: [] as readonly string[] }

/** The server is told to refuse what it does not know; the bridge only warns, as its environment is somebody else's. */
function unknownVariables(environment: ValueSource['environment']): string[] {
  const known = settings.map(variableOf)
  return Object.keys(environment)
    .filter((name) => name.startsWith(variablePrefix) && !known.includes(name))
    .filter((name) => !programVariables.server.includes(name.slice(variablePrefix.length)))
    .map((name) => `${name}: there is no such variable.${suggestion(name, known)}`)
}

function readSections(
  { path, content }: { path: string; content: string },
  serverUrl: string | undefined,
): { sections: readonly Section[]; problems: readonly string[] } {
  let root: unknown
  try {
    root = JSON.parse(content)
  } catch (error) {
    return { sections: [], problems: [`${path}: is no JSON (${(error as Error).message}).`] }
  }
  if (!isJsonObject(root)) return { sections: [], problems: [`${path}: expected a JSON object.`] }
  const { servers = {}, ...general } = root
  if (!isJsonObject(servers)) {
    return {
      sections: [],
      problems: [`${path}: expected servers to be an object with a section for each URL.`],
    }
  }
  const named = Object.entries(servers).map(([url, values]) => ({ url, name: `${path}, ${url}`, values }))
  const wrong = named.filter(({ values }) => !isJsonObject(values))
  const sections = named.flatMap(({ url, name, values }) =>
    isJsonObject(values) ? [{ url, name, values }] : [],
  )
  const all: Section[] = [{ name: path, values: general }, ...sections]
  const own = sections.filter(({ url }) => serverUrl !== undefined && hrefOf(url) === hrefOf(serverUrl))
  return {
    sections: [...own, { name: path, values: general }],
    problems: [
      ...wrong.map(({ name }) => `${name}: expected an object.`),
      ...all.flatMap((section) => faultsOf(section)),
    ],
  }
}

function faultsOf({ name, values }: Section): string[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const setting = settings.find((row) => row.name === key)
    if (setting === undefined) {
      return [
        `${key} of ${name}: there is no such setting.${suggestion(
          key,
          settings.map((row) => row.name),
        )}`,
      ]
    }
    if (setting.notInFile) return [`${key} of ${name}: cannot be set in a file. Use ${variableOf(setting)}.`]
    return value === null ? [`${key} of ${name}: expected a value.`] : []
  })
}

/** Texts of what JSON says: a list for a repeated setting, an object for one of pairs or one that is JSON itself. */
function textsOf(setting: Setting, value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => textsOf(setting, item))
  const pair = setting.repeats?.pair
  if (isJsonObject(value) && pair !== undefined) {
    return Object.entries(value).map(([name, text]) => name + pair + String(text))
  }
  if (typeof value === 'string') return [value]
  if (typeof value === 'boolean') return [value ? 'on' : 'off']
  return [JSON.stringify(value)]
}

function splitAt(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function hrefOf(url: string): string {
  return URL.canParse(url) ? new URL(url).href : url
}
