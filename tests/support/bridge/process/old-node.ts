import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** The lowest Node that the bridge promises to run on, if it is here. */
export function oldNode(): string | undefined {
  const node = '/usr/bin/node'
  if (!existsSync(node)) return undefined
  return execFileSync(node, ['--version']).toString().startsWith('v20.') ? node : undefined
}
