import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type LocalClient, type LocalEra, startLocalClient } from '../conformance/client/local-client.ts'

/** The script started as `drawbridge`. */
export const launcher: string = fileURLToPath(new URL('../../bridge/launcher.cjs', import.meta.url))
const bundle = fileURLToPath(new URL('../../bridge/dist/main.mjs', import.meta.url))
const linkTimeoutMs = 20_000

/** The home folder of one user of the bridge, with their logins. */
export interface BridgeHome {
  path: string
  /** Returns the text of every file in it, to search for secrets. */
  files(): string
  remove(): void
}

/** Creates an empty home. */
export function createBridgeHome(): BridgeHome {
  const path = mkdtempSync(join(tmpdir(), 'drawbridge-home-'))
  return {
    path,
    files: () =>
      readdirSync(path, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => readIfThere(join(entry.parentPath, entry.name)))
        .join('\n'),
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}

/** Reads a file; a lock or a draft may be gone by then. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** The built bridge with a local client at its stdio. */
export interface BridgeProcess extends LocalClient {
  stderr(): string
  /** Waits for the link for the user to open. */
  link(): Promise<string>
  /** Returns the number of different links shown. */
  links(): number
  /** Returns these links, in order. */
  allLinks(): readonly string[]
}

/** Starts the built bridge in front of `url`; it opens no browser. Keys are in a file unless `flags` say otherwise. */
export function startBridge(
  url: string,
  home: BridgeHome,
  {
    era = 'legacy',
    flags = ['--store', 'file'],
    environment = {},
    opens = false,
  }: {
    era?: LocalEra
    flags?: readonly string[]
    environment?: Readonly<Record<string, string>>
    /** Allows it to open a browser. */
    opens?: boolean
  } = {},
): BridgeProcess {
  if (!existsSync(bundle)) throw new Error('There is no built bridge. Run npm run build first.')
  let stderr = ''
  const argv = [process.execPath, launcher, url, ...(opens ? [] : ['--no-open']), ...flags]
  const client = startLocalClient(
    era,
    era === 'modern' ? '2026-07-28' : '2025-11-25',
    { argv, environment: { PATH: process.env['PATH'] ?? '', HOME: home.path, ...environment } },
    (text) => (stderr += text),
  )
  const found = (): string[] => [...new Set(stderr.match(/https?:\/\/\S*[?&]response_type=code\S*(?=\s)/g))]
  return {
    ...client,
    stderr: () => stderr,
    links: () => found().length,
    allLinks: found,
    async link() {
      for (const end = Date.now() + linkTimeoutMs; Date.now() < end; await delay(50)) {
        const [first] = found()
        if (first !== undefined) return first
      }
      throw new Error(`The bridge showed no link.\n${stderr}`)
    },
  }
}
