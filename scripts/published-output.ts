import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Plugin } from 'rolldown'

// A program loads the part that it needs this soon after its entry, also on a busy machine.
const loadingMs = 2000

/**
 * Moves a finished build from its output folder into `target`, where programs may be started at any time.
 *
 * Moves the parts first and then the entries that name them, each atomically: a program that starts gets either the
 * old build or the new one, complete. Then removes old files selected by `isRemoved`, after the time that a program
 * started a moment ago may need to load the other parts of its build. Not safe for two builds at once.
 */
export function publishOutput(target: string, isRemoved: (name: string) => boolean): Plugin {
  return {
    name: 'publish-output',
    async writeBundle({ dir = '' }, bundle) {
      const isEntry = (name: string): boolean => bundle[name]?.type === 'chunk' && bundle[name].isEntry
      const names = Object.keys(bundle)
      for (const name of [...names.filter((name) => !isEntry(name)), ...names.filter(isEntry)]) {
        mkdirSync(dirname(join(target, name)), { recursive: true })
        renameSync(join(dir, name), join(target, name))
      }
      rmSync(dir, { recursive: true })
      const kept = new Set(names.map((name) => name.split('/')[0]))
      const old = readdirSync(target).filter((name) => !kept.has(name) && isRemoved(name))
      if (old.length > 0) await delay(loadingMs)
      for (const name of old) rmSync(join(target, name), { recursive: true, force: true })
    },
  }
}
