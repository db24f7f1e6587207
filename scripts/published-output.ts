import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Plugin } from 'rolldown'

// A program loads the part that does its work this soon after its entry, also on a busy machine.
const loadingMs = 2000

/**
 * Moves a finished build from the folder that it was written to into `target`, where programs may be started at any moment.
 *
 * Parts go first, then the entries that name them, each in one step: whoever starts a program gets the old build or the new
 * one, whole. Of the rest, what `isRemoved` says is removed, after the time that a program started a moment ago may take
 * to load the other parts of its build. Not made for two builds at once.
 */
export function publishOutput(target: string, isRemoved: (name: string) => boolean): Plugin {
  return {
    name: 'publish-output',
    async writeBundle({ dir = '' }, bundle) {
      const isEntry = (name: string): boolean => bundle[name]?.type === 'chunk' && bundle[name].isEntry
      const names = Object.keys(bundle)
      mkdirSync(target, { recursive: true })
      for (const name of [...names.filter((name) => !isEntry(name)), ...names.filter(isEntry)]) {
        renameSync(join(dir, name), join(target, name))
      }
      rmSync(dir, { recursive: true })
      const old = readdirSync(target).filter((name) => !names.includes(name) && isRemoved(name))
      if (old.length > 0) await delay(loadingMs)
      for (const name of old) rmSync(join(target, name), { recursive: true, force: true })
    },
  }
}
