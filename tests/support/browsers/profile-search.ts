import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Files below `folder` that contain `text`, as bytes. What cannot be read (sockets, what is gone by then) is passed over. */
export function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => {
      try {
        return readFileSync(file).includes(text)
      } catch {
        return false
      }
    })
}
