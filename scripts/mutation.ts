// Measures how many small changes of the code the tests notice, by StrykerJS. Text is not changed.
//   npm run mutation -- FOLDER...       for example server/core/access bridge/oauth/tokens/refresh.ts
//   --json FILE         also writes scores and surviving mutants as JSON
//   --concurrency N     mutants tried at once; default 2
import { Stryker } from '@stryker-mutator/core'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { testsOf } from './mutation/mutation-tests.ts'

type MutantResult = Awaited<ReturnType<Stryker['runMutationTest']>>[number]

interface FolderScore {
  folder: string
  /** Mutants that a test failed with, or that no test ended with. */
  noticed: number
  mutants: number
  survivors: { file: string; line: number; mutator: string; replacement: string; isCovered: boolean }[]
}

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'string' }, concurrency: { type: 'string', default: '2' } },
})
const folders = positionals.map((path) => relative('.', path))
const concurrency = Number(values.concurrency)
if (folders.length === 0) stop('Name at least one folder or file: npm run mutation -- server/core/access')
for (const folder of folders) if (!existsSync(folder)) stop(`There is no ${folder}.`)
if (!Number.isInteger(concurrency) || concurrency < 1) stop('--concurrency is a whole number.')

const scores: FolderScore[] = []
for (const folder of folders) {
  const score = scoreOf(folder, await mutantsOf(folder))
  scores.push(score)
  for (const { file, line, mutator, replacement, isCovered } of score.survivors)
    console.log(`${file}:${line}  ${mutator}: ${replacement}${isCovered ? '' : '  (no test executes it)'}`)
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(scores, undefined, 2)}\n`)
}
console.log('\n| folder | mutants | noticed | share |\n| --- | --- | --- | --- |')
for (const { folder, mutants, noticed } of scores)
  console.log(`| \`${folder}\` | ${mutants} | ${noticed} | ${Math.floor((100 * noticed) / mutants)} % |`)

/** Runs the tests of `folder` with each of its mutants. The working tree is copied, and is not changed. */
async function mutantsOf(folder: string): Promise<MutantResult[]> {
  process.env['MUTATION_TESTS'] = JSON.stringify(testsOf(folder))
  const sources = statSync(folder).isDirectory() ? [`${folder}/**/*.ts`, `!${folder}/**/*.test.ts`] : [folder]
  return new Stryker({
    mutate: sources,
    mutator: { excludedMutations: ['StringLiteral'] },
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'scripts/mutation/vitest.config.ts', related: false },
    coverageAnalysis: 'perTest',
    concurrency,
    timeoutMS: 15_000,
    // TypeScript 7 has no API to read it with, and nothing here needs it.
    tsconfigFile: 'none.json',
    disableTypeChecks: false,
    ignorePatterns: ['**/dist', '/screenshots', '.environments'],
    tempDirName: '.stryker-tmp',
    cleanTempDir: 'always',
    reporters: ['progress-append-only'],
  }).runMutationTest()
}

function scoreOf(folder: string, results: readonly MutantResult[]): FolderScore {
  const noticed = results.filter(({ status }) => status === 'Killed' || status === 'Timeout')
  const survivors = results
    .filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
    .map(({ fileName, location, mutatorName, replacement, status }) => ({
      file: relative('.', fileName),
      line: location.start.line,
      mutator: mutatorName,
      replacement: replacement.replaceAll(/\s+/g, ' ').slice(0, 120),
      isCovered: status === 'Survived',
    }))
  survivors.sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line)
  return { folder, noticed: noticed.length, mutants: noticed.length + survivors.length, survivors }
}

function stop(reason: string): never {
  console.error(reason)
  process.exit(2)
}
