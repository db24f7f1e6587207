import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync, readSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { LineFile } from './line-file.ts'
import { createLog, reportTo } from './log.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

const never = (error: unknown): void => {
  throw error
}

it('a line file appends audit events only, whatever the level of the log', async () => {
  const path = join(folder, 'audit.jsonl')
  for (const round of [1, 2]) {
    const lines: string[] = []
    const audit = new LineFile(path, never)
    const report = reportTo(createLog('silent', { write: (line) => void lines.push(line) }, { audit }), {
      request_id: `r-${round}`,
      address: '192.0.2.7',
    })
    report('signed_in', { client_id: 'c', sub: 'ada' })
    report('mcp_request', { credential: 'access_token' })
    report('token_refused', { code: 'invalid_grant', description: 'Bearer mcpa_secretsecretsecret' })
    await audit.close()
    expect(lines).toEqual([])
  }
  const records = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(records.map(({ event, request_id }) => [event, request_id])).toEqual([
    ['signed_in', 'r-1'],
    ['token_refused', 'r-1'],
    ['signed_in', 'r-2'],
    ['token_refused', 'r-2'],
  ])
  expect(records[0]).toMatchObject({ audit: true, address: '192.0.2.7', sub: 'ada' })
  expect(readFileSync(path, 'utf8')).not.toContain('secretsecret')
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

it('a line file fails at once if it cannot be opened', () => {
  expect(() => new LineFile(join(folder, 'missing', 'audit.jsonl'), never)).toThrow(/ENOENT/)
})

it('a line file reports a full disk, fails no caller, and still closes', async () => {
  const failures: unknown[] = []
  const audit = new LineFile('/dev/full', (error) => void failures.push((error as { code?: string }).code))
  for (let line = 0; line < 100; line += 1) {
    audit.write('{"event":"tool_called"}\n')
    await new Promise((resolve) => setImmediate(resolve))
  }
  await expect.poll(() => failures).toContain('ENOSPC')
  // Less often than once per line.
  expect(failures.length).toBeLessThan(5)
  await audit.close()
})

it('a line file continues in the middle of a line that was written in part', async () => {
  const path = join(folder, 'audit.jsonl')
  const audit = new LineFile(path, never)
  const lines = Array.from(
    { length: 2000 },
    (_, index) => `${JSON.stringify({ index, text: 'ä'.repeat(500) })}\n`,
  )
  for (const line of lines) audit.write(line)
  await audit.close()
  expect(readFileSync(path, 'utf8')).toBe(lines.join(''))
})

it('a line file waits at its close for a pipe that is read slowly, not for one that is never read', async () => {
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const lines = Array.from({ length: 1500 }, (_, index) => `${index} ${'x'.repeat(100)}\n`)
  const slow = new LineFile(path, never)
  for (const line of lines) slow.write(line)
  let closed: boolean | undefined
  void slow.close().then((isClosed) => (closed = isClosed))
  let text = ''
  const chunk = Buffer.alloc(32 * 1024)
  const readSome = (): number => {
    try {
      const length = readSync(reader, chunk)
      text += chunk.toString('utf8', 0, length)
      return length
    } catch {
      // EAGAIN: the pipe is empty.
      return 0
    }
  }
  const readAndLook = (): boolean | undefined => {
    readSome()
    return closed
  }
  await expect.poll(readAndLook, { interval: 20 }).toBe(true)
  while (readSome() > 0);
  expect(text).toBe(lines.join(''))

  const stuck = new LineFile(path, never)
  for (const line of lines) stuck.write(line)
  expect(await stuck.close()).toBe(false)
  closeSync(reader)
})

it('a line file continues in a new file when it is reopened, and loses nothing', async () => {
  const path = join(folder, 'audit.jsonl')
  const audit = new LineFile(path, never)
  audit.write('one\n')
  renameSync(path, `${path}.1`)
  const reopened = audit.reopen()
  audit.write('two\n')
  await reopened
  audit.write('three\n')
  await audit.close()
  expect(readFileSync(`${path}.1`, 'utf8') + readFileSync(path, 'utf8')).toBe('one\ntwo\nthree\n')
  expect(readFileSync(path, 'utf8')).toContain('three')
})
