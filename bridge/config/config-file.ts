import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { type Section, sectionProblems } from '@drawbridge/shared/settings/read-settings.ts'
import { settings } from './setting-table.ts'

/** What config.json says about one server, and everything that is wrong in it. */
export interface ConfigFile {
  /** The section of the server, and then the rest of the file. */
  sections: readonly Section[]
  problems: readonly string[]
}

/** Reads `content` of config.json: settings for every server, and below `servers` a section for each URL. */
export function readConfigFile(path: string, content: string, serverUrl: string | undefined): ConfigFile {
  const refused = (problem: string): ConfigFile => ({ sections: [], problems: [`${path}: ${problem}.`] })
  let root: unknown
  try {
    root = JSON.parse(content)
  } catch (error) {
    return refused(`is not valid JSON${lineOf(error as Error, content)}`)
  }
  if (!isJsonObject(root)) return refused('expected a JSON object')
  const { servers = {}, ...values } = root
  if (!isJsonObject(servers)) {
    return refused('expected servers to be an object with a section for each URL')
  }
  const general: Section = { name: path, values }
  const own: Section[] = []
  const problems = sectionProblems(settings, general)
  for (const [url, values] of Object.entries(servers)) {
    const name = `${path}, ${url}`
    if (isJsonObject(values)) {
      const section = { name, values }
      problems.push(...sectionProblems(settings, section))
      if (serverUrl !== undefined && hrefOf(url) === hrefOf(serverUrl)) own.push(section)
    } else problems.push(`${name}: expected an object.`)
  }
  return { sections: [...own, general], problems }
}

/** Where a parser stopped. Its message is not shown: it quotes the text, which may hold a secret. */
function lineOf({ message }: Error, content: string): string {
  const position = / at position (\d+)/.exec(message)?.[1]
  return position === undefined ? '' : `, line ${content.slice(0, Number(position)).split('\n').length}`
}

function hrefOf(url: string): string {
  return URL.canParse(url) ? new URL(url).href : url
}
