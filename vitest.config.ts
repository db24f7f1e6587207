import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{shared,server,bridge,extension,bench,soak,tests}/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    environment: 'node',
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
