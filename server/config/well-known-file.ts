import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { readJsonText } from '@drawbridge/shared/json-text.ts'
import type { FileReading } from './client-file.ts'
import type { ServerConfig } from './setting.ts'
import { readSettingFile } from './setting-file-text.ts'

const maxTextLength = 16_384

/** Documents that this server makes itself, and what others could be taken for them. */
const ownNames = /^(?:oauth-.*|openid-configuration)$/

/**
 * The texts of the file that WELL_KNOWN names, by what follows `/.well-known/`. Each fault names the file. What the texts mean is not
 * checked. Never throws; empty when the setting is.
 */
export function readWellKnownFile({ wellKnown: path }: Pick<ServerConfig, 'wellKnown'>): FileReading<string> {
  const faulty = (...faults: string[]): FileReading<string> => ({ entries: new Map(), faults })
  if (path === undefined) return { entries: new Map(), faults: [] }
  const file = readSettingFile(path)
  if (file.kind === 'unreadable') return faulty(file.fault)
  const json = readJsonText(file.text)
  if (json.kind === 'invalid') return faulty(`${path} is not valid JSON${json.place}.`)
  if (!isJsonObject(json.value)) return faulty(`${path} must hold an object of names and texts.`)
  const entries = Object.entries(json.value)
  const faults = entries.flatMap(([name, text]) => {
    const fault = nameFault(name) ?? textFault(text)
    return fault === undefined ? [] : `${path}: ${JSON.stringify(name)} ${fault}`
  })
  return faults.length > 0 ? faulty(...faults) : { entries: new Map(entries as [string, string][]), faults }
}

function nameFault(name: string): string | undefined {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name))
    return 'is no name: write what follows /.well-known/, letters, digits, dots, _ and - only.'
  return ownNames.test(name) ? 'is served by this server itself. Leave it out.' : undefined
}

function textFault(text: unknown): string | undefined {
  if (typeof text === 'string' && text !== '' && text.length <= maxTextLength) return undefined
  return `must be a text of 1 to ${maxTextLength} characters.`
}
