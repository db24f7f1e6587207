import { isAbsolute } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type CodeSplittingNameFunction, defineConfig } from 'rolldown'
import { thirdPartyNotices } from './scripts/third-party-notices.ts'

const output = {
  format: 'esm',
  entryFileNames: '[name].mjs',
  chunkFileNames: '[name]-[hash].mjs',
  sourcemap: false,
  cleanDir: true,
} as const

/** Puts everything that `entry` imports before it runs into one file, also what later parts share with it. */
function createStartGroup(entry: string): CodeSplittingNameFunction {
  const start = new Set([fileURLToPath(new URL(entry, import.meta.url))])
  let isComplete = false
  return (id, context) => {
    if (!isComplete) {
      // A set that grows is walked to its new end. What is no file, such as node:fs, has nothing to follow.
      for (const module of start) {
        for (const imported of context.getModuleInfo(module)?.importedIds ?? []) {
          if (isAbsolute(imported)) start.add(imported)
        }
      }
      isComplete = true
    }
    return start.has(id) ? 'start' : null
  }
}

export default defineConfig([
  {
    input: { main: 'server/main.ts', library: 'server/library.ts' },
    platform: 'node',
    plugins: [thirdPartyNotices()],
    output: { ...output, dir: 'server/dist', minify: false },
  },
  {
    input: { main: 'bridge/main.ts' },
    platform: 'node',
    plugins: [thirdPartyNotices()],
    // Native and optional: what is installed beside the bundle is loaded, when a key is read.
    external: ['keytar'],
    // Its other build asks for its own files at run time, which no bundle has.
    resolve: { alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' } },
    // Read from disk at every start of a client, so bytes and files count.
    output: {
      ...output,
      dir: 'bridge/dist',
      minify: true,
      codeSplitting: { groups: [{ name: createStartGroup('bridge/main.ts'), debugName: 'start' }] },
    },
  },
  {
    // By itself: with a file in common it would load that of main, and so run a second bridge.
    input: { 'keychain-helper': 'bridge/credentials/keychain-helper.ts' },
    platform: 'node',
    external: ['keytar'],
    output: { ...output, dir: 'bridge/dist', cleanDir: false, minify: true, codeSplitting: false },
  },
])
