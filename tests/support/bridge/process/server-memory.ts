import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { loginId } from '../../../../bridge/credentials/credential-store.ts'
import type { BridgeHome } from '../../../e2e/bridge-process.ts'

/**
 * Reads what bridges of this home remember about the server at `url`, as stored; undefined when the file is missing.
 */
export function readServerMemory(home: BridgeHome, url: string): JsonObject | undefined {
  try {
    return JSON.parse(readFileSync(fileOf(home, url), 'utf8')) as JsonObject
  } catch {
    return undefined
  }
}

/** Replaces what bridges of this home remember about the server at `url`. */
export function writeServerMemory(home: BridgeHome, url: string, memory: JsonObject): void {
  const file = fileOf(home, url)
  mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 })
  writeFileSync(file, JSON.stringify(memory), { mode: 0o600 })
}

function fileOf(home: BridgeHome, url: string): string {
  const id = loginId({ serverUrl: url, resource: undefined, client: undefined, profile: 'default' })
  return join(home.path, '.drawbridge', 'servers', `${id}.json`)
}
