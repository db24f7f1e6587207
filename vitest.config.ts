import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{shared,server,bridge,extension,bench,soak,tests}/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    environment: 'node',
    setupFiles: ['tests/support/patience.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // One second by default, which a busy computer may need for nothing at all.
    expect: { poll: { timeout: 15_000 } },
    // By default one processor is left idle: of two, that is half. Many tests wait for other processes.
    maxWorkers: availableParallelism(),
  },
})
