import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BrowserKind } from './test-browser.ts'

/** Folder of the builds, configured as for the build itself. */
export const buildFolder: string =
  process.env['EXTENSION_OUT_DIR'] ?? fileURLToPath(new URL('../../../dist/extension/', import.meta.url))

/** A folder that a browser can load as an extension, with the needed parts of its manifest. */
export interface BuiltExtension {
  folder: string
  /** Id of the add-on; Firefox only. */
  geckoId: string
}

/**
 * Returns the production build for that browser: the files of the stores' zip, or those in another `output`. Throws
 * when it is missing.
 */
export function builtExtension(kind: BrowserKind, output: string = buildFolder): BuiltExtension {
  const folder = join(output, kind === 'chromium' ? 'chrome-mv3' : 'firefox-mv3')
  const file = join(folder, 'manifest.json')
  if (!existsSync(file)) throw new Error('There is no built extension. Run npm run build first.')
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as {
    browser_specific_settings?: { gecko?: { id?: string } }
  }
  return { folder, geckoId: manifest.browser_specific_settings?.gecko?.id ?? '' }
}
