import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Finds files below `folder` that contain the bytes of `text`. Skips unreadable ones (sockets, deleted files). */
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
