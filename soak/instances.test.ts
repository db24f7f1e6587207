import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Instance, supervise } from './instances.ts'
import { createTally, type Tally } from './tally.ts'

let directory: string
let tally: Tally
let instance: Instance | undefined
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'drawbridge-soak-test-'))
  tally = createTally()
})
afterEach(async () => {
  await instance?.stop().catch(() => {})
  instance = undefined
  rmSync(directory, { recursive: true })
})

async function start(program: string, readyLine?: RegExp): Promise<Instance> {
  const script = join(directory, 'program.mjs')
  writeFileSync(script, `${program}\nconsole.error('log of ' + process.pid)\nsetInterval(() => {}, 1000)`)
  const logFile = join(directory, 'log')
  instance = await supervise(
    { name: 'program', script, directory, logFile, ...(readyLine && { readyLine }) },
    tally,
  )
  return instance
}

const polite = `process.once('SIGTERM', () => process.exit(0))\nconsole.log('{"event":"ready"}')`

it('a killed instance is started again at once, and counted by how it ended', async () => {
  const { kill, restarted, log } = await start(polite)
  kill('SIGKILL', 0)
  await restarted()
  kill('SIGTERM', 0)
  await restarted()
  expect(tally.names().map((name) => [name, tally.get(name)])).toEqual([
    ['kills', 1],
    ['updates', 1],
  ])
  await expect.poll(() => log().match(/log of \d+/g)?.length).toBe(3)
  expect(log()).toContain('"event":"ready"')
})

it('a program of another maker is ready with its own line, and may end by the signal', async () => {
  const { stop } = await start(`console.log('Ready in 5 ms')`, /Ready in/)
  await stop('SIGTERM')
  expect(tally.names()).toEqual([])
})

it('the end of an instance throws when it does not exit cleanly, and counts no kill', async () => {
  const rude = `process.once('SIGTERM', () => process.exit(3))\nconsole.log('{"event":"ready"}')`
  await expect((await start(rude)).stop()).rejects.toThrow('program ended with 3')
  expect(tally.names()).toEqual([])
})
