import { readFileSync } from 'node:fs'
import type { Plugin } from 'rolldown'
import { targets } from '../server/cli/init/target.ts'

/** Files of a Next.js app, which `docs/nextjs.md` shows in this order. */
const ofNext = ['route.ts', 'next.config.drawbridge.ts', 'drawbridge-tools.ts']

/** Puts the files that `init` copies beside the program. Only those: in a clone, `deploy` may hold secrets. */
export function deployFiles(): Plugin {
  return {
    name: 'deploy-files',
    generateBundle() {
      const shown = [...readFileSync('docs/nextjs.md', 'utf8').matchAll(/```ts\n([^]*?)```/g)]
      const names = new Set([...ofNext, 'tools.mjs', ...Object.values(targets).flatMap(({ files }) => files)])
      for (const name of names) {
        const block = shown[ofNext.indexOf(name)]?.[1]
        this.emitFile({
          type: 'asset',
          fileName: `deploy/${name}`,
          source: block ?? readFileSync(`deploy/${name}`),
        })
      }
    },
  }
}
