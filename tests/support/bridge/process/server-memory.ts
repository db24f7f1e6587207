import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { loginId } from '../../../../bridge/credentials/credential-store.ts'

/**
 * Reads what bridges of this home remember about the server at `url`, as stored; undefined when the file is missing.
 */
export function readServerMemory(home: string, url: string): JsonObject | undefined {
  try {
    const id = loginId({ serverUrl: url, resource: undefined, client: undefined, profile: 'default' })
    const file = join(home, '.drawbridge', 'servers', `${id}.json`)
    return JSON.parse(readFileSync(file, 'utf8')) as JsonObject
  } catch {
    return undefined
  }
}
