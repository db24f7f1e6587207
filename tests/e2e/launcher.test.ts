import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'

// Write access to the cache of a program's code is enough to run other code.
describe.each(['bridge', 'server'])('the code cache of the launcher of the %s', (name) => {
  const launcher = fileURLToPath(new URL(`../../${name}/launcher.cjs`, import.meta.url))
  const run = async (home: string, temporary: string): Promise<void> => {
    const env = { PATH: process.env['PATH'], HOME: home, TMPDIR: temporary }
    const { stdout } = await promisify(execFile)(process.execPath, [launcher, '--version'], { env })
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  }

  it('the launcher keeps its code cache in the home folder, readable by its owner only, not in the shared temporary folder', async () => {
    const [home, temporary] = [temporaryFolder(), temporaryFolder()]
    await run(home, temporary)
    const cache = join(home, '.cache', 'drawbridge')
    expect(readdirSync(cache)).not.toEqual([])
    expect(statSync(cache).mode & 0o777).toBe(0o700)
    expect(readdirSync(temporary)).toEqual([])
  })

  it('the launcher uses no code cache in a folder where others can write', async () => {
    const [home, temporary] = [temporaryFolder(), temporaryFolder()]
    const cache = join(home, '.cache', 'drawbridge')
    mkdirSync(cache, { recursive: true })
    chmodSync(cache, 0o777)
    await run(home, temporary)
    expect([readdirSync(cache), readdirSync(temporary)]).toEqual([[], []])
  })

  it('the launcher works without a code cache where there is no home', () =>
    run('/dev/null', temporaryFolder()))
})
