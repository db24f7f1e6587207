import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { BridgeConfig } from '../../config/config.ts'
import type { ServerMemory } from '../../transport/server-memory.ts'
import { loginIdOf } from './connection-login.ts'

/** The memory of a server between connections. Contains no secrets. */
interface MemoryFile {
  /** Returns undefined for a missing or unusable file. Never throws. */
  read(): ServerMemory | undefined
  /** Writes atomically. Never throws: what is not kept is found out again. */
  write(memory: ServerMemory): void
}

const version = 1
const maxBytes = 8_000_000
const abandonedMs = 600_000

/** Opens the memory of the configured server and login. */
export function memoryOf(config: BridgeConfig, note: (text: string) => void): MemoryFile {
  return createMemoryFile(join(config.credentials.home, 'servers', `${loginIdOf(config)}.json`), note)
}

/** Opens the file at `path`, readable only to its owner, as it shows which servers and tools are used. */
export function createMemoryFile(path: string, note: (text: string) => void): MemoryFile {
  return {
    read() {
      try {
        return parseMemory(readFileSync(path, 'utf8'))
      } catch {
        return undefined
      }
    },
    write(memory) {
      const text = JSON.stringify({ version, ...memory })
      if (Buffer.byteLength(text) > maxBytes) return
      try {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
        replaceFile(path, text)
        sweep(path)
      } catch (error) {
        note(`the memory of the server is not written: ${String((error as NodeJS.ErrnoException).code)}`)
      }
    },
  }
}

function replaceFile(path: string, text: string): void {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx' })
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** Removes drafts of killed processes. */
function sweep(path: string): void {
  for (const name of readdirSync(dirname(path))) {
    if (!name.startsWith(`${basename(path)}.`)) continue
    const draft = join(dirname(path), name)
    const { mtimeMs = Infinity } = statSync(draft, { throwIfNoEntry: false }) ?? {}
    if (mtimeMs < Date.now() - abandonedMs) rmSync(draft, { force: true })
  }
}

/** Ignores members of the wrong type; era and transport are required. */
function parseMemory(text: string): ServerMemory | undefined {
  const value = parseJsonObject(text)
  if (value?.['version'] !== version) return undefined
  const { transport, at, initializeResult, discoverResult, tools } = value
  const [era, lacks] = [eraOf(value['era']), lackOf(value['lacks'])]
  if (era === undefined || (transport !== 'http' && transport !== 'sse')) return undefined
  return {
    era,
    transport,
    at: typeof at === 'number' ? at : 0,
    ...(lacks && { lacks }),
    ...(isJsonObject(initializeResult) && { initializeResult }),
    ...(isJsonObject(discoverResult) && { discoverResult }),
    ...(Array.isArray(tools) && { tools: tools.filter(isJsonObject) }),
  }
}

function lackOf(value: unknown): ServerMemory['lacks'] {
  if (!isJsonObject(value) || typeof value['at'] !== 'number') return undefined
  const era = eraOf(value['era'])
  return era && { era, at: value['at'] }
}

function eraOf(value: unknown): McpEra | undefined {
  return value === 'modern' || value === 'legacy' ? value : undefined
}
