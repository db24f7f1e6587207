import { readFileSync } from 'node:fs'
import type { Plugin } from 'rolldown'
import { targets } from '../server/cli/init/target.ts'

/** Puts the files that `init` copies beside the program. Only those: in a clone, `deploy` may hold secrets. */
export function deployFiles(): Plugin {
  return {
    name: 'deploy-files',
    generateBundle() {
      const names = new Set([
        'tools.mjs',
        ...Object.values(targets).flatMap(({ files }) => Object.keys(files)),
      ])
      for (const name of names)
        this.emitFile({ type: 'asset', fileName: `deploy/${name}`, source: readFileSync(`deploy/${name}`) })
    },
  }
}
