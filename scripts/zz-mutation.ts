// Measures how many small changes of the code the tests notice, by StrykerJS. Text is not changed.
//   npm run mutation -- FOLDER...       for example server/core/access bridge/oauth/tokens/refresh.ts
//   --json FILE         also writes scores and surviving mutants as JSON
//   --concurrency N     mutants tried at once; default 2
//   --sample N          of every N dozen lines of a file only the first dozen, for a folder that takes long
import { Stryker } from '@stryker-mutator/core'
import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'


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
  options: {
    json: { type: 'string' },
    concurrency: { type: 'string', default: '2' },
    sample: { type: 'string', default: '1' },
  },
})
const folders = positionals.map((path) => relative('.', path))
const [concurrency, sample] = [values.concurrency, values.sample].map(Number) as [number, number]
if (folders.length === 0) stop('Name at least one folder or file: npm run mutation -- server/core/access')
for (const folder of folders) if (!existsSync(folder)) stop(`There is no ${folder}.`)
for (const number of [concurrency, sample])
  if (!Number.isInteger(number) || number < 1) stop('--concurrency and --sample are whole numbers.')

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
  process.env['MUTATION_TESTS'] = JSON.stringify(['server/mcp/command/process/{handshake,process-connection,process-lines,process-lines-streams,process-changes}.test.ts','server/mcp/command/{questions,process-slot,process-room}.test.ts'])
  return new Stryker({
    mutate: placesIn(folder),
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

/** Returns the files below `folder`, or the sampled lines of them. */
function placesIn(folder: string): string[] {
  const files = statSync(folder).isDirectory()
    ? globSync(`${folder}/**/*.ts`).filter((file) => !file.endsWith('.test.ts'))
    : [folder]
  if (sample === 1) return files
  return files.flatMap((file) => {
    const lines = readFileSync(file, 'utf8').split('\n').length
    const starts = Array.from(
      { length: Math.ceil(lines / (12 * sample)) },
      (_, index) => index * 12 * sample + 1,
    )
    return starts.map((start) => `${file}:${start}-${start + 11}`)
  })
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
