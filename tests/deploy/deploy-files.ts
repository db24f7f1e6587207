import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

/** The folder of the repository. */
export const root: string = fileURLToPath(new URL('../..', import.meta.url))

/** The text of a file of the repository. */
export function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

/** A YAML file of the repository. */
export function readYaml(path: string): unknown {
  return parse(read(path), { strict: true, uniqueKeys: true })
}

/** A JSON file of the repository. */
export function readJson(path: string): Record<string, unknown> {
  return JSON.parse(read(path)) as Record<string, unknown>
}
