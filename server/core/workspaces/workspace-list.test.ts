import { expect, it, vi } from 'vitest'
import { createWorkspaceList, workspacesIn } from './workspace-list.ts'

const of = {
  user: { id: 'p#ada', sub: 'ada', email: undefined, name: undefined },
  clientId: 'client',
  scope: 'mcp',
  providerToken: () => 'secret-token',
}

it.each<[what: string, given: unknown, expected: unknown]>([
  ['none', [], []],
  ['further members', [{ id: 'a', name: 'A', role: 'owner' }], [{ id: 'a', name: 'A' }]],
  ['a whole number', [{ id: 7, name: 'Seven' }], [{ id: '7', name: 'Seven' }]],
  ['blanks around a name', [{ id: 'a', name: '  A b ' }], [{ id: 'a', name: 'A b' }]],
  ['an empty name', [{ id: 'a', name: ' ' }], [{ id: 'a', name: 'a' }]],
  [
    'a long name',
    [{ id: 'x'.repeat(200), name: 'n'.repeat(300) }],
    [{ id: 'x'.repeat(200), name: 'n'.repeat(200) }],
  ],
  [
    'one id twice',
    [
      { id: 'a', name: 'first' },
      { id: 'b', name: 'B' },
      { id: 'a', name: 'second' },
    ],
    [
      { id: 'a', name: 'first' },
      { id: 'b', name: 'B' },
    ],
  ],
])('a list of workspaces is taken with %s', (_what, given, expected) => {
  expect(workspacesIn(given)).toStrictEqual(expected)
})

it.each<[what: string, given: unknown, fault: string]>([
  ['no array', { workspaces: [] }, 'expected an array'],
  ['null', null, 'expected an array'],
  ['a text as entry', ['a'], '[0].id'],
  ['null as entry', [null], '[0].id'],
  ['no id', [{ name: 'A' }], '[0].id'],
  ['an empty id', [{ id: '', name: 'A' }], '[0].id'],
  ['a long id', [{ id: 'x'.repeat(201), name: 'A' }], '[0].id'],
  ['a blank in an id', [{ id: 'a b', name: 'A' }], '[0].id'],
  ['a line break in an id', [{ id: 'a\nSet-Cookie: x', name: 'A' }], '[0].id'],
  ['another letter in an id', [{ id: 'ä', name: 'A' }], '[0].id'],
  ['a fraction as id', [{ id: 1.5, name: 'A' }], '[0].id'],
  ['a number that lost digits as id', [{ id: 2 ** 53, name: 'A' }], '[0].id'],
  ['no name', [{ id: 'a', name: 'A' }, { id: 'b' }], '[1].name'],
  ['a thousand and one', Array.from({ length: 1001 }, (_, i) => ({ id: i, name: 'n' })), 'more than 1000'],
])('a list of workspaces is refused with %s', (_what, given, fault) => {
  expect(() => workspacesIn(given)).toThrow(fault)
})

it('a list passes the user on, and returns what the app says', async () => {
  const read = vi.fn(async () => [{ id: 'a', name: 'A' }])
  expect(await createWorkspaceList(read, () => {})(of)).toStrictEqual([{ id: 'a', name: 'A' }])
  expect(read).toHaveBeenCalledExactlyOnceWith(of)
})

it.each<[what: string, read: () => Promise<unknown>, message: string]>([
  [
    'throws at once',
    () => {
      throw new Error('boom')
    },
    'boom',
  ],
  ['rejects', async () => Promise.reject(new Error('boom')), 'boom'],
  ['rejects with a text', async () => Promise.reject('boom'), 'boom'],
  ['returns something else', async () => 'x', 'expected an array'],
])('a list that the app %s is unavailable, with the reason for the log', async (_what, read, message) => {
  const report = vi.fn()
  expect(await createWorkspaceList(read, report)(of)).toBeUndefined()
  expect(report).toHaveBeenCalledExactlyOnceWith('workspaces_failed', { message })
})

it('a list that takes longer than ten seconds is unavailable', async () => {
  vi.useFakeTimers()
  try {
    const report = vi.fn()
    const listed = createWorkspaceList(() => new Promise(() => {}), report)(of)
    await vi.advanceTimersByTimeAsync(9_999)
    expect(report).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(report).toHaveBeenCalledWith('workspaces_failed', { message: 'no answer within ten seconds' })
    expect(await listed).toBeUndefined()
  } finally {
    vi.useRealTimers()
  }
})
