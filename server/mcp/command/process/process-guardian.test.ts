import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { processesWith } from '../../../../tests/support/server/mcp/command-fixture.ts'
import { underLoad } from '../../../../tests/support/under-load.ts'
import { createProcessGuardian } from './process-guardian.ts'

const parent = fileURLToPath(
  new URL('../../../../tests/support/server/mcp/command-parent.ts', import.meta.url),
)
const children: ChildProcess[] = []
afterEach(() => {
  for (const { pid } of children.splice(0)) {
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL')
    } catch {
      // It is gone already.
    }
  }
})

it('a server that is killed leaves no process after 3 s, whatever these ignore and have started', async () => {
  const mark = randomUUID()
  const processes = [
    ['echo'],
    ['echo', '--ignore', 'eof'],
    ['echo', '--ignore', 'eof', '--ignore', 'term'],
    ['grandchild', '--ignore', 'eof', '--ignore', 'term'],
  ]
  const server = spawn(process.execPath, [parent, mark, ...processes.map((words) => words.join(' '))], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  children.push(server)
  await once(server.stdout, 'data')
  // The server, its processes, and what one of them has started.
  await expect.poll(() => processesWith(mark)).toHaveLength(1 + processes.length + 1)
  server.kill('SIGKILL')
  await expect.poll(() => processesWith(mark), { timeout: underLoad(3000), interval: 50 }).toEqual([])
})

it('the guardian leaves a group alone that it no longer watches', async () => {
  const failures: unknown[] = []
  const guardian = createProcessGuardian(process.env['PATH'], (error) => failures.push(error))
  const sleepers = [1, 2, 3].map(() => spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' }))
  children.push(...sleepers)
  const [first, second, third] = sleepers.map(({ pid }) => pid ?? 0)
  guardian.watch(first ?? 0)
  guardian.watch(second ?? 0)
  guardian.watch(third ?? 0)
  guardian.forget(second ?? 0)
  guardian.close()
  await expect
    .poll(() => [sleepers[0], sleepers[2]].map((each) => each?.signalCode))
    .toEqual(['SIGTERM', 'SIGTERM'])
  expect(sleepers[1]?.exitCode).toBeNull()
  expect(sleepers[1]?.signalCode).toBeNull()
  expect(failures).toEqual([])
})
