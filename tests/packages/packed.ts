import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../docs/command-block.ts'

export const run: typeof execFile.__promisify__ = promisify(execFile)

export const workspaces = ['server', 'bridge'] as const
export type Workspace = (typeof workspaces)[number]

/** The archive of a package: its path, and the files in it with their modes. */
export interface Packed {
  archive: string
  size: number
  files: readonly { path: string; size: number; mode: number }[]
}

/** Packs a workspace into `folder` as a release does: `prepack` builds it. */
export async function pack(workspace: Workspace, folder: string): Promise<Packed> {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: join(root, workspace),
  })
  const [{ filename, ...packed }] = JSON.parse(stdout) as [Packed & { filename: string }]
  return { ...packed, archive: join(folder, filename) }
}

/** Variables of somebody who has just this Node, and nothing of this repository. */
export function strangerOf(node: string, home: string): Record<string, string> {
  return { PATH: `${dirname(node)}:/usr/bin:/bin`, HOME: home }
}

/** Installs archives into a new folder, by npm on that Node; returns what it printed. Without optional packages nothing is fetched. */
export async function install(
  archives: readonly string[],
  folder: string,
  node = process.execPath,
): Promise<string> {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  const flags = ['--omit=optional', '--offline', '--no-audit', '--no-fund']
  const { stdout, stderr } = await run('npm', ['install', ...archives, ...flags], {
    cwd: folder,
    env: strangerOf(node, folder),
  })
  return stdout + stderr
}
