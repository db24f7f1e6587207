import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runAlone } from './command-process.ts'
import { freePort } from '../support/server/free-port.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

// What command lines say is in server/cli/command-line.test.ts.
it('--version prints one version', async () => {
  const { code, stdout, stderr } = await runAlone(['--version'])
  // Node 22 says of its own SQLite that it is experimental.
  const warning = /^\(node:\d+\) ExperimentalWarning: SQLite .*\n\(Use .*--trace-warnings.*\n/
  expect([code, stderr.replace(warning, '')]).toEqual([0, ''])
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})

it('a fault ends the process also when the tools module has begun something that goes on', async () => {
  const path = join(temporaryFolder(), 'lively.mjs')
  writeFileSync(path, 'setInterval(() => {}, 1000); export const tools = 1')
  const { code, stdout, stderr } = await runAlone([], { settings: { TOOLS: path } })
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(/^ {2}- DRAWBRIDGE_TOOLS: .*tools: must be an array/m)
  expect(stderr).not.toMatch(/^ +at /m)
})

it('an error that nothing catches ends the process, without the line of code that threw it', async () => {
  const path = join(temporaryFolder(), 'late.mjs')
  const filler = 'x'.repeat(5000)
  writeFileSync(path, `export const tools = []; setTimeout(() => { throw new Error('late') }) // ${filler}`)
  const port = await freePort()
  const place = { LISTEN: `127.0.0.1:${port}`, BASE_URL: `http://localhost:${port}` }
  const { code, stderr } = await runAlone([], { settings: { TOOLS: path, ...place } })
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^Error: late$/m)])
  expect(stderr).not.toContain(filler)
})
