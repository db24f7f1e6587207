import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runWxt } from './wxt-process.ts'
import { readZip } from './zip-reader.ts'

const run = promisify(execFile)
const names = ['chrome', 'firefox', 'sources'].map((kind) => `drawbridge-0.1.0-${kind}.zip`)

let ours: string
let theirs: string
beforeAll(async () => {
  ours = mkdtempSync(join(tmpdir(), 'drawbridge-ours-'))
  theirs = mkdtempSync(join(tmpdir(), 'drawbridge-reviewer-'))
  await runWxt(ours, ['zip'])
  await runWxt(ours, ['zip', '-b', 'firefox'])
}, 120_000)
afterAll(() => {
  for (const folder of [ours, theirs]) rmSync(folder, { recursive: true })
})

/** Variables set by the test runner and npm, which a reviewer does not have. */
const ofRunner = /^(?:VITEST|NODE_ENV|MODE|DEV|PROD|SSR|TEST|BASE_URL|npm_(?!config_))/

async function npm(...parameters: string[]): Promise<void> {
  const others = Object.entries(process.env).filter(([name]) => !ofRunner.test(name))
  const path = process.env['PATH']?.split(':').filter((folder) => !folder.includes('node_modules'))
  const env = { ...Object.fromEntries(others), PATH: path?.join(':') }
  await run('npm', parameters, { cwd: theirs, env })
}

it('a reviewer who follows the documented steps gets the packages, byte for byte', async () => {
  for (const [name, content] of readZip(readFileSync(join(ours, names[2] ?? '')))) {
    mkdirSync(dirname(join(theirs, name)), { recursive: true })
    writeFileSync(join(theirs, name), content)
  }
  await npm('ci', '--prefer-offline', '--no-audit', '--no-fund')
  await npm('run', 'zip', '-w', 'extension')
  for (const name of names) {
    const [own, rebuilt] = [ours, join(theirs, 'dist/extension')].map((folder) =>
      readFileSync(join(folder, name)),
    )
    expect(own?.equals(rebuilt ?? Buffer.alloc(0)), name).toBe(true)
  }
}, 300_000)
