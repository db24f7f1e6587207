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

// With all that they import.
const ofEveryCommand =
  /server[/\\](?:cli[/\\]command\.ts|config[/\\]|core[/\\](?!operator)|startup[/\\](?:open-(?:provider|store)|program-name|system-runtime))/
const serving = /server[/\\]cli[/\\]serve\.ts$/

export default defineConfig([
  {
    input: { main: 'server/main.ts', library: 'server/library.ts' },
    platform,
    resolve,
    plugins: [thirdPartyNotices(), deployFiles(), publishOutput('server/dist', (name) => name !== 'types')],
    // What every command needs in one file, and what serving adds in another: a file for each set of commands that share it
    // would be forty small ones at the start.
    output: {
      ...output,
      dir: fresh('server/dist', 'server'),
      codeSplitting: {
        groups: [
          { name: 'core', test: ofEveryCommand, priority: 1 },
          { name: 'serve', test: serving },
        ],
      },
    },
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
