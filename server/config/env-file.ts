import { parseEnv } from 'node:util'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { readSettingFile } from './document-file.ts'

/** Where a variable stands that came from a file, for messages: ` of drawbridge.env, line 4`. By name of the variable. */
export type VariablePlaces = ReadonlyMap<string, string>

/** One variable: its value runs to the end of the line, or over several lines in quotes. */
const entry = /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*(?:(["'`])[^]*?\2.*|.*)$/gm

/**
 * Adds the variables of the file at `path` to `environment`, whose own ones win, as with `node --env-file`. Returns the places of
 * those it added. Throws `ConfigError` if the file cannot be read, or has a line that is neither a variable nor a comment.
 */
export function loadEnvFile(path: string, environment: Record<string, string | undefined>): VariablePlaces {
  const file = readSettingFile(path)
  if (file.kind === 'unreadable') throw new ConfigError([`--env-file: ${file.fault}`])
  const places = new Map<string, string>()
  const text = file.text.replaceAll('\r\n', '\n')
  const rest = text.replaceAll(entry, (variable, name: string, _quote, offset: number) => {
    places.set(name, ` of ${path}, line ${text.slice(0, offset).split('\n').length}`)
    return variable.replaceAll(/[^\n]/g, '')
  })
  const faults = rest
    .split('\n')
    .flatMap((line, index) =>
      /^\s*(?:#|$)/.test(line) ? [] : [`${path}, line ${index + 1}: expected NAME=value.`],
    )
  if (faults.length > 0) throw new ConfigError(faults)
  for (const [name, value] of Object.entries(parseEnv(text))) {
    if (environment[name] === undefined) environment[name] = value
    else places.delete(name)
  }
  return places
}
