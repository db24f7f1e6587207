import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseAdminToken, sharedFileFault } from '../store/admin-token-file.ts'
import {
  readAccessFile,
  readLogoFile,
  readSettingFile,
  readTextsFiles,
  readUpstream,
  readWellKnownFile,
} from './document-file.ts'
import type { DocumentReading } from '../core/document.ts'
import { readClientFile } from './client-file.ts'
import { secretCommand } from './config-value.ts'
import { embeddedDatabase, parseSecretKeys, type KeySource, keySourceOf } from './store-address.ts'
import { providers } from './provider.ts'
import type { ServerConfig } from './setting-table.ts'
import { keyFileEntries } from '../store/secret-key-file.ts'

interface GivenSettings {
  config: ServerConfig
  /** Settings that are faulty themselves. */
  unusable: ReadonlySet<keyof ServerConfig>
}

type Fault = Omit<FileFault, 'field'>

/** How the file of each setting is checked. TOOLS is code, which can be checked only by loading it. */
const checks = {
  store: ({ config }) => storeFaults(config),
  // A generated key is next to the store, so it needs a usable STORE.
  secretKeys: ({ config, unusable }) =>
    unusable.has('store') && !config.secretKeys ? [] : keyFaults(keySourceOf(config)),
  clients: ({ config }, now) => documentFaults(readClientFile(config, now), 'clients.md'),
  access: ({ config: { access } }) =>
    access === undefined ? [] : documentFaults(readAccessFile(access), 'access.md'),
  audit: ({ config }) => auditFaults(config.audit),
  adminTokenFile: ({ config }) => tokenFaults(config),
  upstream: ({ config }) => upstreamFaults(config),
  appLogo: ({ config }) => readingFaults(readLogoFile(config), logoStep),
  texts: ({ config }) => documentFaults(readTextsFiles(config), 'languages.md'),
  wellKnown: ({ config }) => documentFaults(readWellKnownFile(config), 'directories.md'),
} satisfies Partial<Record<keyof ServerConfig, (given: GivenSettings, now: number) => Fault[]>>

/** A setting that names a data file. */
export type FileField = keyof typeof checks

/** Every {@link FileField}. */
export const fileFields = Object.keys(checks) as readonly FileField[]

/** A fault of a file that a setting names, and the next step. Contains no secret. */
export interface FileFault {
  field: FileField | 'tools'
  problem: string
  nextStep: string
}

/**
 * Every fault of the files that `fields` name, except for settings that are faulty themselves. Changes nothing. A file that
 * passes may still fail later: the disk may be full, or another server may be using it.
 */
export function fileFaults(given: GivenSettings, fields: readonly FileField[], now: number): FileFault[] {
  return fields
    .filter((field) => !given.unusable.has(field))
    .flatMap((field) => checks[field](given, now).map((fault) => Object.assign(fault, { field })))
}

/** Faults as sentences for a `ConfigError`. Faults with the same next step have it once, after the last. */
export function faultTexts(
  faults: readonly FileFault[],
  nameOf: (field: keyof ServerConfig) => string,
): string[] {
  return faults.map(({ field, problem, nextStep }, index) => {
    const next = faults[index + 1]
    const isRepeated = next?.field === field && next.nextStep === nextStep
    return `${nameOf(field)}: ${problem}${isRepeated ? '' : ` ${nextStep}`}`
  })
}

function keyFaults(source: KeySource): Fault[] {
  if (source.kind !== 'file') return []
  const { path, generated } = source
  const file = readSettingFile(path)
  if (file.kind === 'unreadable') {
    // If the folder is missing too, the fault of the store says so.
    if (generated && ['ENOENT', 'ENOTDIR'].includes(file.code)) return []
    const nextStep =
      file.code === 'ENOENT'
        ? `Make it with: umask 077; drawbridge-server keys generate > ${path}`
        : 'It must hold one entry a line, as drawbridge-server keys generate prints them.'
    return [{ problem: file.fault, nextStep }]
  }
  try {
    parseSecretKeys(keyFileEntries(file.text).join(','))
    return []
  } catch (error) {
    const problem = `${path} holds no key ring: ${(error as Error).message}.`
    return [{ problem, nextStep: 'Write one entry a line; drawbridge-server keys generate prints one.' }]
  }
}

function documentFaults(reading: DocumentReading<unknown>, page: string): Fault[] {
  return readingFaults(reading, `docs/${page} says what it holds.`)
}

function readingFaults(reading: DocumentReading<unknown>, nextStep: string): Fault[] {
  return reading.kind === 'read' ? [] : reading.faults.map((problem) => ({ problem, nextStep }))
}

const logoStep = 'Name an SVG, PNG, JPEG or WebP image of at most 32 KB; an SVG needs its xmlns.'

function upstreamFaults({ upstream, tools }: ServerConfig): Fault[] {
  if (upstream === undefined) return []
  const problem = '/mcp offers the tools of TOOLS or those of UPSTREAM, not both.'
  return [
    ...(tools === undefined ? [] : [{ problem, nextStep: 'Leave one of them out.' }]),
    ...documentFaults(readUpstream(upstream, process.env), 'upstream-file.md'),
  ]
}

function auditFaults(path: string | undefined): Fault[] {
  if (path === undefined) return []
  const fault = (problem: string): Fault[] => [
    { problem, nextStep: 'Name a file that the user who runs the server can write.' },
  ]
  if (!existsSync(path)) return mayWrite(dirname(path)) ? [] : fault(`${path} cannot be made.`)
  if (statSync(path).isDirectory()) return fault(`${path} is a folder, not a file.`)
  return mayWrite(path) ? [] : fault(`this user may not write ${path}.`)
}

/** Returns the fault of the admin token's file, if any. The token is in neither sentence. */
function tokenFaults({ adminListen, adminTokenFile: path }: ServerConfig): Fault[] {
  const nextStep = `Make it with: umask 077; ${secretCommand} > ${path ?? 'admin-token'}`
  if (path === undefined) return adminListen ? [{ problem: 'needed for ADMIN_LISTEN.', nextStep }] : []
  const file = readSettingFile(path)
  if (file.kind === 'unreadable') return [{ problem: file.fault, nextStep }]
  const shared = sharedFileFault(path)
  if (shared !== undefined) return [{ problem: shared, nextStep: `chmod 600 ${path}` }]
  try {
    parseAdminToken(file.text)
    return []
  } catch (error) {
    return [{ problem: `${path} holds no token: ${(error as Error).message}.`, nextStep }]
  }
}

function storeFaults({ store, provider }: ServerConfig): Fault[] {
  if (store.kind !== 'sqlite') return []
  const { path } = store
  const fault = existsSync(path) ? databaseFault(path) : newDatabaseFault(path)
  const beside = join(dirname(path), embeddedDatabase)
  const isChecked = providers[provider].isTrial && existsSync(beside)
  const problem = isChecked ? databaseFault(beside)?.problem : undefined
  const nextStep = 'Move it away, or name a store in another folder.'
  return [...(fault ? [fault] : []), ...(problem === undefined ? [] : [{ problem, nextStep }])]
}

function databaseFault(path: string): Fault | undefined {
  if (statSync(path).isDirectory()) {
    return {
      problem: `${path} is a folder, not a file.`,
      nextStep: `Name a file in it: sqlite:${join(path, 'server.db')}`,
    }
  }
  if (!mayWrite(path) || !mayWrite(dirname(path))) {
    return {
      problem: `this user may not read and write ${path} and its folder.`,
      nextStep: 'Run this as the user that runs the server, or give the folder to that user.',
    }
  }
  if (isSqlite(path)) return undefined
  return {
    problem: `${path} is not a SQLite database.`,
    nextStep: 'Name another file; one that does not exist yet is created.',
  }
}

function newDatabaseFault(path: string): Fault | undefined {
  const folder = nearestExisting(dirname(resolve(path)))
  if (!statSync(folder).isDirectory()) {
    return { problem: `${path} cannot be made: ${folder} is not a folder.`, nextStep: 'Name another file.' }
  }
  if (mayWrite(folder)) return undefined
  return {
    problem: `${path} cannot be made: this user may not write ${folder}.`,
    nextStep: 'Let the user that runs the server write it, or name another file.',
  }
}

/** Returns `path`, or the nearest folder above it that exists. */
export function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path))
}

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Recognized by its first bytes. An empty file counts: a server that was killed while starting leaves one. */
function isSqlite(path: string): boolean {
  const mark = Buffer.from('SQLite format 3\0')
  const head = Buffer.alloc(mark.length)
  const file = openSync(path, 'r')
  try {
    return readSync(file, head) === 0 || head.equals(mark)
  } finally {
    closeSync(file)
  }
}
