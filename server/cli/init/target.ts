import { existsSync, readFileSync } from 'node:fs'
import type { ServerConfig, Settings } from '../../config/setting-table.ts'

/** A place to run the server in. */
export interface Target {
  /** Settings that the place decides, unless they are given. */
  settings: Settings
  /** Settings that have no default there. */
  needs: readonly ('baseUrl' | 'store')[]
  /** Files of `deploy/`, and their names in the folder. */
  files: Readonly<Record<string, string>>
  /** Whether the server starts in the folder, so that doctor can look at it. */
  startsHere: boolean
  /** The next command. */
  next: string
}

export const startHere = 'drawbridge-server --env-file drawbridge.env'

const secretKeys = 'file:secret-keys'

export const targets: Readonly<Record<string, Target>> = {
  local: { settings: { secretKeys }, needs: [], files: {}, startsHere: true, next: startHere },
}

/**
 * Returns the text of a file of `deploy/`, which the build copies beside the program, with the values of `config` in the place of
 * its examples.
 */
export function deployFile(name: string, { baseUrl, appUrl, providerUrl }: ServerConfig): string {
  const places = ['./deploy/', '../../../deploy/'].map((path) => new URL(path + name, import.meta.url))
  const text = readFileSync(places.find((place) => existsSync(place)) ?? name, 'utf8')
  const examples = {
    'https://mcp.example.com': baseUrl,
    'mcp.example.com': new URL(baseUrl).host,
    'https://app.example.com': appUrl,
    'https://REF.supabase.co/auth/v1': providerUrl,
    'my-tools.mjs': 'tools.mjs',
  }
  return Object.entries(examples).reduce(
    (filled, [example, value]) => filled.replaceAll(example, () => value),
    text,
  )
}
