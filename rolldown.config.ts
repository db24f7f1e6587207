import { defineConfig } from 'rolldown'

export default defineConfig({
  input: { main: 'server/main.ts', library: 'server/library.ts' },
  platform: 'node',
  output: {
    dir: 'server/dist',
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
    minify: false,
    sourcemap: false,
    cleanDir: true,
  },
})
