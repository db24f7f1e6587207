// Measures how many small changes of the code the tests notice, by StrykerJS. Text is not changed.
//   npm run mutation -- PLACE...   folders, files or lines: server/core/access bridge/oauth/tokens/refresh.ts:20-60
//   --concurrency N                mutants tried at once; default 2
import { Stryker } from '@stryker-mutator/core'
import { existsSync, statSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

/** By folder: tests elsewhere that prove its decisions. Tests beside its files always run. */
const widerTests: Readonly<Record<string, readonly string[]>> = {
  'server/core/access': [
    'server/core/tokens/caller-reader.test.ts',
    'server/http/mcp/mcp*.test.ts',
    'server/http/login/access-rules.test.ts',
    'server/mcp/*.test.ts',
    'server/mcp/{plain,relay}/*.test.ts',
    'server/observability/audit*.test.ts',
  ],
  'server/core/attempts': ['server/http/*attempt*.test.ts', 'server/cli/**/*attempt*.test.ts'],
  'server/core/session': [
    'server/core/operator/*.test.ts',
    'server/core/sign-in/*.test.ts',
    'server/core/tokens/*.test.ts',
    'server/http/account/*.test.ts',
    'server/store/sqlite/*.test.ts',
  ],
  'server/core/sign-in': [
    'server/http/login/*.test.ts',
    'server/http/account/*.test.ts',
    'server/http/oauth/*.test.ts',
  ],
  'server/core/tokens': [
    'server/http/oauth/*.test.ts',
    'server/http/mcp/mcp*.test.ts',
    'server/core/authorization/*.test.ts',
  ],
  'server/http/login': ['server/core/sign-in/*.test.ts', 'server/http/page-language.test.ts'],
  'server/mcp/command': ['server/mcp/*.test.ts'],
  'bridge/oauth/tokens': ['bridge/oauth/{login,grants,client}/*.test.ts'],
  'bridge/transport': ['bridge/proxy/{liveness,proxy-calls,proxy-era}.test.ts', 'bridge/sign-in/*.test.ts'],
}

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { concurrency: { type: 'string', default: '2' } },
})
const places = positionals.map((given) => {
  const [path = '', lines] = relative('.', given).split(':')
  return { path, lines }
})
if (places.length === 0) stop('Name at least one folder or file: npm run mutation -- server/core/access')
for (const { path } of places) if (!existsSync(path)) stop(`There is no ${path}.`)
if (!/^[1-9]\d?$/.test(values.concurrency)) stop('--concurrency is a whole number.')

process.env['MUTATION_TESTS'] = JSON.stringify(places.flatMap(({ path }) => testsOf(path)))
await new Stryker({
  mutate: [...places.map(({ path, lines }) => pattern(path, lines)), '!**/*.test.ts'],
  mutator: { excludedMutations: ['StringLiteral'] },
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'scripts/mutation/vitest.config.ts', related: false },
  coverageAnalysis: 'perTest',
  concurrency: Number(values.concurrency),
  timeoutMS: 15_000,
  // TypeScript 7 has no API to read it with, and nothing here needs it.
  tsconfigFile: 'none.json',
  disableTypeChecks: false,
  ignorePatterns: ['**/dist', '/screenshots', '.environments', '.drawbridge'],
  tempDirName: '.stryker-tmp',
  cleanTempDir: 'always',
  reporters: ['progress-append-only', 'clear-text'],
  clearTextReporter: { allowEmojis: false, logTests: false, reportTests: false },
}).runMutationTest()

function pattern(path: string, lines: string | undefined): string {
  if (statSync(path).isDirectory()) return `${path}/**/*.ts`
  return lines === undefined ? path : `${path}:${lines}`
}

/** Returns the patterns of the tests to run for mutants of `path`, a folder or a file. */
function testsOf(path: string): string[] {
  const folder = statSync(path).isDirectory() ? path : dirname(path)
  const tests = new Set([`${folder}/**/*.test.ts`])
  for (const [name, wider] of Object.entries(widerTests)) {
    if (!`${folder}/`.startsWith(`${name}/`)) continue
    for (const pattern of [`${name}/**/*.test.ts`, ...wider]) tests.add(pattern)
  }
  return [...tests]
}

function stop(reason: string): never {
  console.error(reason)
  process.exit(2)
}
