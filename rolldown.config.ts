import { defineConfig } from 'rolldown'
import { deployFiles } from './scripts/deploy-files.ts'
import { publishOutput } from './scripts/published-output.ts'
import { thirdPartyNotices } from './scripts/third-party-notices.ts'

const platform = 'node'
// Prefer ES modules where a package has both: their unused code is left out.
const resolve = { mainFields: ['module', 'main'] }
// Native and optional: loaded from beside the bundle when a key is read.
const external = ['keytar']

const output = {
  format: 'esm',
  entryFileNames: '[name].mjs',
  chunkFileNames: '[name]-[hash].mjs',
  sourcemap: true,
  sourcemapExcludeSources: true,
  cleanDir: true,
} as const

// In `dist`, so that whatever ignores that folder ignores these too; one for each build that writes there.
const fresh = (folder: string, part: string): string => `${folder}/.new-${part}`

export default defineConfig([
  {
    input: { main: 'server/main.ts', library: 'server/library.ts' },
    platform,
    resolve,
    plugins: [thirdPartyNotices(), deployFiles(), publishOutput('server/dist', (name) => name !== 'types')],
    output: { ...output, dir: fresh('server/dist', 'server') },
  },
  {
    input: { main: 'bridge/main.ts' },
    platform,
    resolve,
    external,
    plugins: [
      thirdPartyNotices(),
      publishOutput(
        'bridge/dist',
        (name) => !name.startsWith('keychain-helper.') && !name.startsWith('.new-'),
      ),
    ],
    // The largest package has a file of its own, which takes less memory than one file with everything.
    output: {
      ...output,
      dir: fresh('bridge/dist', 'bridge'),
      codeSplitting: { groups: [{ name: 'undici', test: /node_modules[/\\]undici/ }] },
    },
  },
  {
    // Built separately: a chunk shared with main could start a second bridge.
    input: { 'keychain-helper': 'bridge/credentials/keychain/keychain-helper.ts' },
    platform,
    external,
    plugins: [publishOutput('bridge/dist', () => false)],
    output: { ...output, dir: fresh('bridge/dist', 'helper'), codeSplitting: false },
  },
])
