import { chmodSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import repository from '../../vitest.config.ts'

// One project: Stryker runs all tests of a mutant in one worker.
const { projects: _, ...test } = repository.test ?? {}

const root = fileURLToPath(new URL('../..', import.meta.url))
// Tests start programs as other users, who have to read Stryker's copy.
chmodSync(root, 0o755)

/** The patterns of the tests that this run has, by `scripts/mutation.ts`. */
const include: unknown = JSON.parse(process.env['MUTATION_TESTS'] ?? '[]')

export default defineConfig({
  // A package of the workspaces is the copy with the mutants, not the one that node_modules links to.
  resolve: {
    alias: [
      {
        find: /^@drawbridge\/shared\//,
        replacement: fileURLToPath(new URL('../../shared/', import.meta.url)),
      },
    ],
  },
  test: {
    ...test,
    // A mutant that ends a wait is noticed sooner by its test than by Stryker, which has to start its worker again.
    testTimeout: 10_000,
    include: include as string[],
    root,
  },
})
