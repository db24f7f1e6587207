import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { decodeFileText } from '@drawbridge/shared/file-text.ts'
import { whileHeld } from '@drawbridge/shared/held-file.ts'
import { readJsonText } from '@drawbridge/shared/json-text.ts'
import { type AccessReading, readAccessDocument } from '../core/access/access-document.ts'
import { readLogo } from '../core/logo.ts'
import { type DocumentReading, named, readDocument } from '../core/document.ts'
import { readUpstreamDocument, type UpstreamReading, upstreamAt } from '../core/gateway/upstream-document.ts'
import { toolScope } from '../core/tokens/scope.ts'
import type { LanguageTexts } from '../texts/languages.ts'
import { readTextsDocument } from '../texts/texts-document.ts'
import type { ServerConfig } from './setting-table.ts'

/** The text of a file, or a sentence that says why it cannot be had and names the file. */
export type SettingFileText = { kind: 'text'; text: string } | Unreadable

interface Unreadable {
  kind: 'unreadable'
  code: string
  fault: string
}

/** Reads a file that a setting names, with or without a byte order mark. Never throws. */
export function readSettingFile(path: string): SettingFileText {
  const file = readBytes(path)
  return file.kind === 'bytes' ? { kind: 'text', text: decodeFileText(file.bytes) } : file
}

function readBytes(path: string): { kind: 'bytes'; bytes: Buffer } | Unreadable {
  try {
    return { kind: 'bytes', bytes: whileHeld(process.platform, () => readFileSync(path)) }
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    return { kind: 'unreadable', code, fault: unreadableText(path, code) }
  }
}

/** Why a file cannot be read, by the code of the system's error; `path` as it was given. */
function unreadableText(path: string, code: string): string {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      // Many a relative path is meant from somewhere else.
      return `file not found: ${resolve(path)}.`
    case 'EISDIR':
      return `${path} is a folder, not a file.`
    case 'EACCES':
    case 'EPERM':
      return `this user may not read ${path}. Let the user that runs the server read it.`
    case 'EBUSY':
      return `another program has ${path} open. Close it, and run this again.`
    default:
      return `${path} cannot be read (${code}).`
  }
}

/** Reads the JSON in the file at `path`. Each fault names the file. Never throws. */
export function readDocumentFile<Value>(
  path: string,
  read: (document: unknown) => DocumentReading<Value>,
): DocumentReading<Value> {
  const file = readSettingFile(path)
  return file.kind === 'text'
    ? readDocumentText(file.text, path, read)
    : { kind: 'faulty', faults: [file.fault] }
}

function readDocumentText<Value>(
  text: string,
  path: string,
  read: (document: unknown) => DocumentReading<Value>,
): DocumentReading<Value> {
  const json = readJsonText(text)
  if (json.kind === 'invalid') return { kind: 'faulty', faults: [`${path} is not valid JSON${json.place}.`] }
  const reading = read(json.value)
  return reading.kind === 'read'
    ? reading
    : { kind: 'faulty', faults: reading.faults.map((fault) => `${path}: ${fault}`) }
}

const readAccess = (document: unknown): AccessReading => readAccessDocument(document, toolScope)

/** Reads the rules in the file of ACCESS. */
export function readAccessFile(path: string): AccessReading {
  return readDocumentFile(path, readAccess)
}

/** Reads the rules from `text`, the content of the file at `path`. */
export function readAccessText(text: string, path: string): AccessReading {
  return readDocumentText(text, path, readAccess)
}

/** Reads the value of UPSTREAM, a URL or a file. */
export function readUpstream(
  given: string,
  environment: Readonly<Record<string, string | undefined>>,
): UpstreamReading {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(given)) return upstreamAt(given)
  return readDocumentFile(given, (document) => readUpstreamDocument(document, environment))
}

const maxTextLength = 16_384
const textFault = `must be a text of 1 to ${maxTextLength} characters.`

/** Excludes names the server uses, and names that could be mistaken for them. */
const wellKnownTexts = named(z.string(textFault).min(1, textFault).max(maxTextLength, textFault), {
  form: /^(?!(?:oauth-.*|openid-configuration)$)[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
  fault:
    'is not allowed: write the part after /.well-known/, with letters, digits, dots, _ and - only. The names of documents of this server are reserved.',
})

/** The texts of the file that WELL_KNOWN names, by what follows `/.well-known/`. What they mean is not checked. */
export function readWellKnownFile({
  wellKnown: path,
}: Pick<ServerConfig, 'wellKnown'>): DocumentReading<Readonly<Record<string, string>>> {
  if (path === undefined) return { kind: 'read', value: {} }
  return readDocumentFile(path, (document) => readDocument(wellKnownTexts, document))
}

/** The image that APP_LOGO names, as a data URL. */
export function readLogoFile({
  appLogo: path,
}: Pick<ServerConfig, 'appLogo'>): DocumentReading<string | undefined> {
  if (path === undefined) return { kind: 'read', value: undefined }
  const file = readBytes(path)
  return file.kind === 'bytes' ? readLogo(file.bytes, path) : { kind: 'faulty', faults: [file.fault] }
}

/** The tables of the files that TEXTS names, each of another language. */
export function readTextsFiles({
  texts: paths,
}: Pick<ServerConfig, 'texts'>): DocumentReading<readonly LanguageTexts[]> {
  const pathOf = new Map<string, string>()
  const tables: LanguageTexts[] = []
  const faults: string[] = []
  for (const path of paths) {
    const reading = readDocumentFile(path, readTextsDocument)
    if (reading.kind === 'faulty') {
      faults.push(...reading.faults)
      continue
    }
    const { language } = reading.value
    const other = pathOf.get(language)
    if (other !== undefined) faults.push(`${path}: the language is ${language}, as in ${other}.`)
    pathOf.set(language, path)
    tables.push(reading.value)
  }
  return faults.length > 0 ? { kind: 'faulty', faults } : { kind: 'read', value: tables }
}
