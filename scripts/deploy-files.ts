import { readFileSync } from 'node:fs'
import type { Plugin } from 'rolldown'
import { targets } from '../server/cli/init/target.ts'

/** Files of a Next.js app, by their names in `docs/nextjs.md`, which shows each behind its name. */
const ofNext: Readonly<Record<string, string>> = {
  'app/drawbridge/[[...path]]/route.ts': 'route.ts',
  'next.config.ts': 'next.config.drawbridge.ts',
  'drawbridge-tools.ts': 'drawbridge-tools.ts',
}
const shownFile = /^`([^`\n]+\.ts)`[^`]*(?:`[^`\n]+`[^`]*)*?\n\n```ts\n(.*?)^```$/gms

/** Puts the files that `init` copies beside the program. Only those: in a clone, `deploy` may hold secrets. */
export function deployFiles(): Plugin {
  return {
    name: 'deploy-files',
    generateBundle() {
      const texts = new Map<string, string | Buffer>()
      for (const [, path = '', text = ''] of readFileSync('docs/nextjs.md', 'utf8').matchAll(shownFile)) {
        const name = ofNext[path]
        if (name !== undefined) texts.set(name, text)
      }
      const names = [
        'tools.mjs',
        'drawbridge-tools.ts',
        ...Object.values(targets).flatMap(({ files }) => files),
      ]
      for (const name of new Set(names)) {
        const source = texts.get(name) ?? readFileSync(`deploy/${name}`)
        this.emitFile({ type: 'asset', fileName: `deploy/${name}`, source })
      }
    },
  }
}
