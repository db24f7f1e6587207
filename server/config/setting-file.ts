import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { adminTokenFault } from './admin-token.ts'
import { readAccessFile, readSettingFile, readUpstream, readWellKnownFile } from './document-file.ts'
import type { DocumentReading } from '../core/document.ts'
import { readClientFile } from './client-file.ts'
import { parseSecretKeys, embeddedDatabases, type KeySource, keySourceOf } from './store-address.ts'
import { providers } from './provider.ts'
import type { ServerConfig } from './setting.ts'
import { keyFileEntries } from '../store/secret-key-file.ts'

/** The settings that name a data file. TOOLS is code, which can be checked only by loading it. */
export type FileField =
  | 'store'
  | 'secretKeys'
  | 'clients'
  | 'access'
  | 'audit'
  | 'adminTokenFile'
  | 'upstream'
  | 'wellKnown'

/** Every {@link FileField}. */
export const fileFields: readonly FileField[] = [
  'store',
  'secretKeys',
  'clients',
  'access',
  'audit',
  'adminTokenFile',
  'upstream',
  'wellKnown',
]

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
export function fileFaults(
  { config, unusable }: { config: ServerConfig; unusable: ReadonlySet<keyof ServerConfig> },
  fields: readonly FileField[],
  now: number,
): FileFault[] {
  const checks: Readonly<Record<FileField, () => FileFault[]>> = {
    store: () => storeFaults(config),
    // A generated key is next to the store, so it needs a usable STORE.
    secretKeys: () => (unusable.has('store') && !config.secretKeys ? [] : keyFaults(keySourceOf(config))),
    clients: () => documentFaults('clients', readClientFile(config, now), 'clients.md'),
    access: () =>
      config.access === undefined ? [] : documentFaults('access', readAccessFile(config.access), 'access.md'),
    audit: () => auditFaults(config.audit),
    adminTokenFile: () => tokenFaults(config),
    upstream: () => upstreamFaults(config),
    wellKnown: () => documentFaults('wellKnown', readWellKnownFile(config), 'directories.md'),
  }
  return fields.filter((field) => !unusable.has(field)).flatMap((field) => checks[field]())
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

function keyFaults(source: KeySource): FileFault[] {
  if (source.kind !== 'file') return []
  const { path, generated } = source
  const fault = (problem: string, nextStep: string): FileFault[] => [
    { field: 'secretKeys', problem, nextStep },
  ]
  const file = readSettingFile(path)
  if (file.kind === 'unreadable') {
    // If the folder is missing too, the fault of the store says so.
    if (generated && ['ENOENT', 'ENOTDIR'].includes(file.code)) return []
    if (file.code === 'ENOENT') {
      return fault(file.fault, `Make it with: umask 077; drawbridge-server keys generate > ${path}`)
    }
    return fault(file.fault, 'It must hold one entry a line, as drawbridge-server keys generate prints them.')
  }
  try {
    parseSecretKeys(keyFileEntries(file.text).join(','))
    return []
  } catch (error) {
    const { message } = error as Error
    return fault(
      `${path} holds no key ring: ${message}.`,
      'Write one entry a line; drawbridge-server keys generate prints one.',
    )
  }
}

function documentFaults(field: FileField, reading: DocumentReading<unknown>, page: string): FileFault[] {
  if (reading.kind === 'read') return []
  return reading.faults.map((problem) => ({ field, problem, nextStep: `docs/${page} says what it holds.` }))
}

function upstreamFaults({ upstream, tools }: Pick<ServerConfig, 'upstream' | 'tools'>): FileFault[] {
  if (upstream === undefined) return []
  const both: FileFault = {
    field: 'upstream',
    problem: '/mcp offers the tools of TOOLS or those of UPSTREAM, not both.',
    nextStep: 'Leave one of them out.',
  }
  const faults = documentFaults('upstream', readUpstream(upstream, process.env), 'gateway.md')
  return tools === undefined ? faults : [both, ...faults]
}

function auditFaults(path: string | undefined): FileFault[] {
  if (path === undefined) return []
  const fault = (problem: string): FileFault[] => [
    { field: 'audit', problem, nextStep: 'Name a file that the user who runs the server can write.' },
  ]
  if (!existsSync(path)) {
    const folder = dirname(path)
    return existsSync(folder) && mayWrite(folder) ? [] : fault(`${path} cannot be made.`)
  }
  if (statSync(path).isDirectory()) return fault(`${path} is a folder, not a file.`)
  return mayWrite(path) ? [] : fault(`this user may not write ${path}.`)
}

function tokenFaults({
  adminListen,
  adminTokenFile: path,
}: Pick<ServerConfig, 'adminListen' | 'adminTokenFile'>): FileFault[] {
  if (path === undefined) {
    const nextStep = 'Make a file with: umask 077; openssl rand -base64 32 > admin-token'
    return adminListen ? [{ field: 'adminTokenFile', problem: 'needed for ADMIN_LISTEN.', nextStep }] : []
  }
  const fault = adminTokenFault(path)
  return fault ? [{ field: 'adminTokenFile', ...fault }] : []
}

function storeFaults({ store, provider }: Pick<ServerConfig, 'store' | 'provider'>): FileFault[] {
  if (store.kind !== 'sqlite') return []
  const { path } = store
  const faults: FileFault[] = []
  const found = existsSync(path) ? databaseFault(path) : newDatabaseFault(path)
  if (found) faults.push({ field: 'store', ...found })
  for (const name of providers[provider].isTrial ? Object.values(embeddedDatabases) : []) {
    const beside = join(dirname(path), name)
    const fault = existsSync(beside) ? databaseFault(beside) : undefined
    const nextStep = 'Move it away, or name a store in another folder.'
    if (fault) faults.push({ field: 'store', problem: fault.problem, nextStep })
  }
  return faults
}

type StoreFault = Omit<FileFault, 'field'> | undefined

function databaseFault(path: string): StoreFault {
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

function newDatabaseFault(path: string): StoreFault {
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

function nearestExisting(path: string): string {
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

/** By its first bytes. An empty file counts: a server that was killed while starting leaves one. */
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
