import { execFile } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

// A copy, because all other tests use this build.
const copy = temporaryFolder(afterAll)
beforeAll(() => {
  const isSource = (path: string): boolean =>
    !['dist', 'node_modules', 'testing'].includes(path.split(sep).at(-1) ?? '') && !path.endsWith('.test.ts')
  for (const name of [
    'server',
    'bridge',
    'shared',
    'scripts',
    'deploy',
    'docs/nextjs.md',
    'tsconfig.base.json',
    'rolldown.config.ts',
    'package.json',
    'package-lock.json',
  ]) {
    cpSync(join(root, name), join(copy, name), { recursive: true, filter: isSource })
  }
  for (const name of ['node_modules', 'server/node_modules']) {
    if (existsSync(join(root, name))) symlinkSync(join(root, name), join(copy, name))
  }
})

/** Changes its version, and builds that. */
async function build(version: string): Promise<string> {
  const manifest = join(copy, 'server/package.json')
  writeFileSync(
    manifest,
    readFileSync(manifest, 'utf8').replace(/"version": ".*"/, `"version": "${version}"`),
  )
  return buildAsItIs()
}

/** Runs the build of `npm start` in its own process; returns its output. */
async function buildAsItIs(): Promise<string> {
  const { stdout, stderr } = await run(process.execPath, ['scripts/build.mjs'], { cwd: copy })
  return stdout + stderr
}

// The first line appears when it takes more than a second.
const built = /^(?:Building \.\.\.\n)?Built in \d+\.\d s\.\n$/

/** Returns the missing files of a program started at this moment: the entry, or a part that it imports. */
function missing(folder: string): string[] {
  const entry = join(copy, folder, 'main.mjs')
  if (!existsSync(entry)) return [entry]
  const parts = readFileSync(entry, 'utf8').matchAll(/(?:from|import) ?\(?["'`]\.\/([\w.-]+\.mjs)["'`]/g)
  return [...parts].map(([, name = '']) => join(copy, folder, name)).filter((path) => !existsSync(path))
}

async function runServer(...argv: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [join(copy, 'server/launcher.cjs'), ...argv])
  return stdout.trim()
}

it('a program that starts while npm start is building finds all of its files', async () => {
  expect(await build('1.0.0')).toMatch(built)
  expect(await runServer('--version')).toBe('1.0.0')
  const count = (): number => readdirSync(join(copy, 'server/dist')).length
  const before = count()

  const finished = new AbortController()
  const rebuilt = build('2.0.0').finally(() => finished.abort())
  let starts = 0
  async function startAgainAndAgain(): Promise<void> {
    for (; !finished.signal.aborted; starts += 1) {
      expect(await runServer('--version')).toMatch(/^[12]\.0\.0$/)
      // Its code is in a part that is loaded once the command is known.
      expect(await runServer('keys', 'generate')).toMatch(/^k\d+-\w+:/)
    }
  }
  const lacks = new Set<string>()
  async function look(): Promise<void> {
    while (!finished.signal.aborted) {
      for (const path of ['server/dist', 'bridge/dist'].flatMap(missing)) lacks.add(path)
      await delay(5)
    }
  }
  const outcomes = await Promise.allSettled([rebuilt, startAgainAndAgain(), look()])

  expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([])
  expect([...lacks]).toEqual([])
  expect(starts).toBeGreaterThan(0)
  expect(await runServer('--version')).toBe('2.0.0')
  // Nothing of the first build is left.
  expect(count()).toBe(before)
}, 120_000)

it('npm start builds again only after a change', async () => {
  expect(await buildAsItIs()).toBe('')
  const added = join(copy, 'shared/added.ts')
  const changes: readonly (() => void)[] = [
    () => writeFileSync(added, ''),
    () => writeFileSync(join(copy, 'package-lock.json'), '{}'),
  ]
  for (const change of changes) {
    change()
    expect(await buildAsItIs()).toMatch(built)
    expect(await buildAsItIs()).toBe('')
  }
}, 120_000)
