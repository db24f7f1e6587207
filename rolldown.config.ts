import { defineConfig } from 'rolldown'

const output = {
  format: 'esm',
  entryFileNames: '[name].mjs',
  chunkFileNames: '[name]-[hash].mjs',
  sourcemap: false,
  cleanDir: true,
} as const

export default defineConfig([
  {
    input: { main: 'server/main.ts', library: 'server/library.ts' },
    platform: 'node',
    output: { ...output, dir: 'server/dist', minify: false },
  },
  {
    input: { main: 'bridge/main.ts', 'keychain-helper': 'bridge/credentials/keychain-helper.ts' },
    platform: 'node',
    // Native and optional: what is installed beside the bundle is loaded, when a key is read.
    external: ['keytar'],
    // Its other build asks for its own files at run time, which no bundle has.
    resolve: { alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' } },
    // Read from disk at every start of a client, so bytes count.
    output: { ...output, dir: 'bridge/dist', minify: true },
  },
])
