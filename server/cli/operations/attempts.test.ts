import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createCommandFixture, operate } from '../../../tests/support/server/command-fixture.ts'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { AttemptBook } from '../../core/attempts/attempt-book.ts'
import type { Store } from '../../core/store.ts'
import { openSqliteStore } from '../../store/sqlite/sqlite.ts'

let folder: string
let runtime: FakeRuntime
/** The store of a running server. */
let store: Store
let book: AttemptBook
beforeEach(() => {
  folder = temporaryFolder()
  runtime = createFakeRuntime(start)
  store = openSqliteStore(join(folder, 'server.db'))
  book = new AttemptBook({ store, runtime })
})
afterEach(() => store.close())

const seen = { status: 200, ok: true, requestId: 'r', address: '192.0.2.1', userAgent: 'client/1\u001B[2J' }
const settings = (): Record<string, string> => ({
  STORE: `sqlite:${join(folder, 'server.db')}`,
  SECRET_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
})

describe('attempts', () => {
  it('attempts prints attempts and counted requests, newest last, with control characters escaped', async () => {
    for (let n = 0; n < 3; n += 1) book.note({ ...seen, step: 'challenge' })
    runtime.advance(1)
    book.note({
      ...seen,
      step: 'page',
      ok: false,
      status: 400,
      clientId: 'c\u001B[2J',
      detail: 'redirect_uri_mismatch',
    })
    await book.flush()
    runtime.advance(600)
    const command = createCommandFixture(settings(), { runtime })
    await operate('attempts', command)
    const { stdout, stderr } = command.said()
    expect(stdout.split('\n')).toEqual([
      'no client named, from 192.0.2.0/24  2027-01-15T08:00:00Z  stopped before signing in',
      '  challenge 200 x3',
      String.raw`  by client/1\u001b[2J`,
      '',
      String.raw`c\u001b[2J  2027-01-15T08:00:01Z  failed`,
      '  page 400 failed (redirect_uri_mismatch)',
      String.raw`  by client/1\u001b[2J`,
      '  request id r',
      expect.stringContaining('did not register'),
      '',
      '',
    ])
    expect(stderr).toBe('The newest is last.\n')
  })

  it('attempts --follow prints each attempt once it is decided, oldest first, except earlier ones', async () => {
    book.note({ ...seen, step: 'register', clientId: 'before' })
    await book.flush()
    runtime.advance(60)
    const command = createCommandFixture(settings(), { runtime, json: true })
    let rounds = 0
    const lines: string[] = []
    await operate(
      'attempts',
      command,
      { follow: true },
      {
        isStopped() {
          rounds += 1
          lines.push(...command.said().stdout.split('\n').filter(Boolean))
          for (const clientId of rounds === 2 ? ['later', 'last'] : []) {
            book.note({ ...seen, step: 'register', clientId })
          }
          void book.flush()
          return rounds > 70
        },
      },
    )
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { client: 'later', result: 'stopped' },
      { client: 'last', result: 'stopped' },
    ])
    expect(rounds).toBe(71)
  })

  it('attempts says so when there are none', async () => {
    const command = createCommandFixture(settings(), { runtime })
    await operate('attempts', command)
    expect(command.said()).toEqual({
      stdout: 'No client has tried to connect in the last day.\n',
      stderr: '',
    })
  })
})
