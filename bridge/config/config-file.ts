import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { readJsonText } from '@drawbridge/shared/json-text.ts'
import { type Section, sectionProblems } from '@drawbridge/shared/settings/read-settings.ts'
import { settings } from './setting-table.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/** The settings of config.json for one server, and its faults. */
export interface ConfigFile {
  /** The section of the server, and then the rest of the file. */
  sections: readonly Section[]
  problems: readonly string[]
}

/** Reads `content` of config.json: settings for every server, and below `servers` a section for each URL. */
export function readConfigFile(path: string, content: string, serverUrl: string | undefined): ConfigFile {
  const refused = (problem: string): ConfigFile => ({ sections: [], problems: [`${path}: ${problem}.`] })
  const read = readJsonText(content)
  if (read.kind === 'invalid') return refused(`is not valid JSON${read.place}`)
  const root = read.value
  if (!isJsonObject(root)) return refused('expected a JSON object')
  const { servers = {}, ...values } = root
  const general: Section = { name: path, values }
  const own: Section[] = []
  const problems = sectionProblems(settings, general)
  if (!isJsonObject(servers))
    problems.push(`${path}: expected servers to be an object with a section for each URL.`)
  for (const [url, values] of Object.entries(isJsonObject(servers) ? servers : {})) {
    const name = `${path}, ${url}`
    if (isJsonObject(values)) {
      const section = { name, values }
      problems.push(...sectionProblems(settings, section))
      if (serverUrl !== undefined && hrefOf(url) === hrefOf(serverUrl)) own.push(section)
    } else problems.push(`${name}: expected an object.`)
  }
  return { sections: [...own, general], problems }
}

function hrefOf(url: string): string {
  return isUrl(url) ? new URL(url).href : url
}
