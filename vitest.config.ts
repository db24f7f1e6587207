import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { compileCache } from './tests/support/compile-cache.ts'

/** Tests of modules, in threads. They need no browser, no Postgres, no keychain. */
const units = ['{shared,server,bridge,extension,bench,soak}/**/*.test.ts', 'tests/fuzz/**/*.test.ts']

/** Tests of whole programs, those that need other programs, and those that change their process: in processes. */
const programs = [
  'tests/**/*.test.ts',
  '{bridge/credentials,server/store/postgres}/**/*.test.ts',
  'server/cli/{migrate,doctor/postgres-check}.test.ts',
  'server/http/{login/captcha,pages/appearance,pages/hostile-logo}.test.ts',
  'server/sandbox/app/browser.test.ts',
  'extension/ui/{popup-page,settings/screen}.test.ts',
]
const others = ['**/node_modules/**', '**/dist/**']

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'units',
          include: units,
          exclude: [...others, ...programs.slice(1)],
          pool: 'threads',
        },
      },
      {
        extends: true,
        test: { name: 'programs', include: programs, exclude: [...others, ...units.slice(1)] },
      },
    ],
    environment: 'node',
    // Files leave nothing behind, so that they can share a worker.
    isolate: false,
    env: compileCache,
    setupFiles: ['tests/support/patience.ts', 'tests/support/drawn-cases.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // One second by default, which a busy computer may need for nothing at all.
    expect: { poll: { timeout: 15_000 } },
    // Most tests wait for other processes or for time.
    maxWorkers: availableParallelism() * 2,
  },
})
