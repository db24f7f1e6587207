import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type JsonObject, isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { BridgeConfig } from '../../config/config.ts'
import { isModernDiscovery } from '../../transport/revision-detection.ts'
import type { ServerMemory } from '../../transport/server-memory.ts'
import { loginIdOf } from './connection-login.ts'

/** What is known of a server, kept between connections. Nothing secret is in it. */
interface MemoryFile {
  /** Undefined when there is none, or none that can be used. Never throws. */
  read(): ServerMemory | undefined
  /** Whole or not at all. Never throws: what is not kept is found out again. */
  write(memory: ServerMemory): void
}

const version = 1
const maxBytes = 8_000_000
const abandonedMs = 600_000

/** The memory of the server that this configuration connects to. */
export function memoryOf(config: BridgeConfig, note: (text: string) => void): MemoryFile {
  return createMemoryFile(join(config.credentials.home, 'servers', `${loginIdOf(config)}.json`), note)
}

/** The file at `path`, of its owner alone: it says which servers and tools somebody uses. */
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

/** Removes what killed processes left half written. */
function sweep(path: string): void {
  for (const name of readdirSync(dirname(path))) {
    if (!name.startsWith(`${basename(path)}.`)) continue
    const draft = join(dirname(path), name)
    const { mtimeMs = Infinity } = statSync(draft, { throwIfNoEntry: false }) ?? {}
    if (mtimeMs < Date.now() - abandonedMs) rmSync(draft, { force: true })
  }
}

/** Members of the wrong kind are left out; without era and transport it is of no use. */
function parseMemory(text: string): ServerMemory | undefined {
  const value = parseJsonObject(text)
  if (value?.['version'] !== version) return undefined
  const { transport, at, initializeResult, discoverResult, tools } = value
  const [era, lacks] = [provenEra(value), lackOf(value['lacks'])]
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

/**
 * That a server speaks 2026-07-28 is believed only by the evidence: earlier versions of the bridge wrote so of servers that had
 * answered `server/discover` without naming it.
 */
function provenEra({ era, discoverResult }: JsonObject): McpEra | undefined {
  return era === 'modern' && !isModernDiscovery(discoverResult) ? undefined : eraOf(era)
}

function lackOf(value: unknown): ServerMemory['lacks'] {
  if (!isJsonObject(value) || typeof value['at'] !== 'number') return undefined
  const era = eraOf(value['era'])
  return era && { era, at: value['at'] }
}

function eraOf(value: unknown): McpEra | undefined {
  return value === 'modern' || value === 'legacy' ? value : undefined
}
