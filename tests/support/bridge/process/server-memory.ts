import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { usualLoginId } from '../credentials/usual-login.ts'

/**
 * Reads what bridges of this home remember about the server at `url`, as stored; undefined when the file is missing.
 */
export function readServerMemory(home: string, url: string): JsonObject | undefined {
  try {
    const file = join(home, '.drawbridge', 'servers', `${usualLoginId(url)}.json`)
    return JSON.parse(readFileSync(file, 'utf8')) as JsonObject
  } catch {
    return undefined
  }
}
