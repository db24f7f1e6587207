import { describe, expect, it } from 'vitest'
import { IncomingCalls } from '../access/call-record.ts'
import type { OperatorPorts } from './operation.ts'
import { readTallies, readUsageOperation } from './usage-operation.ts'

const now = Date.UTC(2027, 0, 15, 12) / 1000

/** Returns an audit line of a call one second ago. */
function line(fields: Record<string, unknown> = {}): string {
  return JSON.stringify({
    level: 30,
    time: new Date((now - 1) * 1000).toISOString(),
    audit: true,
    sub: 'ada',
    client_id: 'one',
    tool: 'add_note',
    outcome: 'ok',
    duration_ms: 10,
    event: 'tool_called',
    ...fields,
  })
}

interface Reading {
  entries: Record<string, unknown>[]
  notes: string[]
  /** What was asked for. */
  from: unknown[]
}

async function read(lines: readonly string[], input: object = {}): Promise<Reading> {
  const reading: Reading = { entries: [], notes: [], from: [] }
  const ports = {
    runtime: { now: () => now },
    note: (text: string) => void reading.notes.push(text),
    async *auditLines(from: unknown) {
      reading.from.push(from)
      yield* lines
    },
  } as unknown as OperatorPorts
  reading.entries = (await readUsageOperation.handle(input, ports)) as typeof reading.entries
  return reading
}

const entriesOf = async (lines: readonly string[], input?: object) => (await read(lines, input)).entries

const entry = {
  tool: 'add_note',
  client_id: 'one',
  workspace: null,
  calls: 1,
  refused: 0,
  errors: 0,
  people: 1,
  p50_ms: 10,
}

describe('usage', () => {
  it('usage has one entry for each tool, client and workspace, the one with the most calls first', async () => {
    const lines = [
      line(),
      line({ tool: 'list_notes' }),
      line({ client_id: 'two' }),
      line({ workspace: 'sales' }),
      line({ client_id: 'two' }),
      line({ workspace: 'sales', sub: 'bob' }),
      line({ workspace: 'sales' }),
    ]
    expect(await entriesOf(lines)).toEqual([
      { ...entry, workspace: 'sales', calls: 3, people: 2 },
      { ...entry, client_id: 'two', calls: 2 },
      entry,
      { ...entry, tool: 'list_notes' },
    ])
  })

  it('usage does not mix entries up whose names contain the separators of others', async () => {
    const lines = [
      line({ tool: 'a', client_id: 'b","c' }),
      line({ tool: 'a","b', client_id: 'c' }),
      line({ tool: 'd,e', client_id: 'f' }),
      line({ tool: 'd', client_id: 'e,f' }),
      line({ tool: 'null', client_id: undefined }),
      line({ tool: 'x', unknown: true, client_id: 'null' }),
      line({ tool: '__proto__', client_id: 'constructor' }),
    ]
    expect(await entriesOf(lines)).toHaveLength(7)
  })

  it.each<[outcome: string, calls: number, refused: number, errors: number]>([
    ['ok', 1, 0, 0],
    ['tool_error', 1, 0, 1],
    ['failed', 1, 0, 1],
    ['cancelled', 1, 0, 0],
    ['refused_scope', 0, 1, 0],
    ['refused_rule', 0, 1, 0],
    ['refused_limit', 0, 1, 0],
  ])(
    'usage counts the outcome %s as %i calls, %i refused, %i errors',
    async (outcome, calls, refused, errors) => {
      expect(await entriesOf([line({ outcome })])).toEqual([
        { ...entry, calls, refused, errors, p50_ms: calls === 0 ? null : 10 },
      ])
    },
  )

  it('usage counts a person once, and no person for calls without a sign-in', async () => {
    const lines = [
      line(),
      line(),
      line({ sub: 'bob', outcome: 'refused_rule' }),
      line({ sub: undefined, client_id: undefined, credential: 'none' }),
      line({ client_id: undefined, credential: 'provider_token' }),
    ]
    expect(await entriesOf(lines)).toEqual([
      { ...entry, calls: 2, refused: 1, people: 2 },
      { ...entry, client_id: null, calls: 2, people: 1 },
    ])
  })

  it.each<[durations: readonly number[], median: number]>([
    [[7], 7],
    [[30, 10, 20], 20],
    [[4, 1, 3, 2], 2],
    [[0, 0, 0, 5000], 0],
    [[100, 9, 8, 20, 7], 9],
    [[1, 2, 2, 2, 900], 2],
    [[12.4], 12.4],
    [[0.1], 0.1],
    [[12_345.6], 12_300],
  ])('usage gives for durations %j the median %d, to three digits', async (durations, median) => {
    const refused = Array.from({ length: 9 }, () => line({ outcome: 'refused_rule', duration_ms: 0 }))
    const lines = [...refused, ...durations.map((ms) => line({ duration_ms: ms }))]
    expect((await entriesOf(lines))[0]?.['p50_ms']).toBe(median)
  })

  it('usage has one entry for all names that the server does not have', async () => {
    const made = Array.from({ length: 50 }, (_, index) => line({ tool: `made up ${index}`, unknown: true }))
    const unlisted = line({ tool: 'of the upstream', unlisted: true })
    expect(await entriesOf([...made, unlisted])).toEqual([
      { ...entry, tool: null, calls: 50 },
      { ...entry, tool: 'of the upstream' },
    ])
    expect(await entriesOf(made, { tool: 'made up 1' })).toEqual([])
  })

  const people = [line(), line({ client_id: 'two' }), line({ sub: 'bob' }), line({ tool: 'list_notes' })]

  it.each<[input: object, entries: object[]]>([
    [{ tool: 'list_notes' }, [{ ...entry, tool: 'list_notes' }]],
    [{ tool: 'list_*' }, []],
    [{ client: 'two' }, [{ ...entry, client_id: 'two' }]],
    [{ user: 'bob' }, [entry]],
    [{ user: 'bob', client: 'two' }, []],
  ])('usage of %j counts only those calls', async (input, entries) => {
    expect(await entriesOf(people, input)).toEqual(entries)
  })

  it.each<[since: string, seconds: number]>([
    ['30s', 30],
    ['5m', 300],
    ['12h', 43_200],
    ['7d', 604_800],
  ])('usage since %s reads what is not older', async (since, seconds) => {
    const at = (age: number): string => line({ time: new Date((now - age) * 1000).toISOString() })
    expect(await entriesOf([at(seconds + 1), at(seconds), at(0)], { since })).toMatchObject([{ calls: 2 }])
  })

  it('usage without since reads everything, and with - reads stdin', async () => {
    const old = line({ time: '2001-01-01T00:00:00.000Z' })
    const { entries, from } = await read([old])
    expect([entries.length, from]).toEqual([1, [undefined]])
    const piped = await read([old], { from: '-', since: '7d' })
    expect([piped.entries, piped.from]).toEqual([[], ['-']])
  })

  it('usage skips broken, foreign and half-written lines, and says how many', async () => {
    const whole = line()
    const faulty = [
      whole.slice(0, 40),
      whole.slice(7),
      `${whole}${whole}`,
      'Nov 28 19:00:00 host systemd[1]: Started.',
      '[]',
      'null',
      '{"remote_addr":"192.0.2.1","status":200}',
      '{"event":7}',
      line({ time: 'yesterday' }),
      line({ time: undefined }),
      line({ tool: undefined }),
      line({ tool: ['add_note'] }),
      line({ outcome: undefined }),
      line({ duration_ms: '10' }),
      line({ sub: 7 }),
    ]
    const { entries, notes } = await read([...faulty, '', '  ', whole])
    expect(entries).toEqual([entry])
    expect(notes).toEqual([`Skipped lines that are broken, or not of the audit trail: ${faulty.length}.`])
  })

  it('usage passes over other events of the audit trail without a note', async () => {
    const others = ['signed_in', 'resource_read', 'prompt_got', 'grant_changed'].map((event) =>
      line({ event }),
    )
    expect(await read(others)).toMatchObject({ entries: [], notes: [] })
  })

  it('usage counts the records that calls make', async () => {
    const lines: string[] = []
    const time = new Date(now * 1000).toISOString()
    const calls = new IncomingCalls({
      caller: {
        user: { sub: 'ada' },
        clientId: 'one',
        grantId: 'grant',
        workspace: { id: 'sales' },
        credential: 'access_token',
      },
      revision: undefined,
      requestBytes: 1,
      report: (event, fields) => void lines.push(JSON.stringify({ time, ...fields, event })),
      nowMs: () => 0,
    })
    const call = { event: 'tool_called', field: 'tool', name: 'add_note' } as const
    calls.begin(call)({ outcome: 'ok', isKnown: true })
    calls.refuse(call, { outcome: 'refused_limit', isKnown: true })
    calls.refuse({ ...call, name: 'x' }, { outcome: 'refused_rule', isKnown: false })
    expect(await entriesOf(lines)).toEqual([
      { ...entry, workspace: 'sales', refused: 1, p50_ms: 0 },
      { ...entry, workspace: 'sales', tool: null, calls: 0, refused: 1, p50_ms: null },
    ])
  })

  it.each<[what: string, other: (index: number) => Record<string, unknown>]>([
    ['users', (index) => ({ sub: `user ${index}` })],
    ['clients', (index) => ({ client_id: `client ${index}` })],
    ['workspaces', (index) => ({ workspace: `workspace ${index}` })],
    ['tools', (index) => ({ tool: `tool ${index}`, unlisted: true })],
    ['refused tools', (index) => ({ tool: `tool ${index}`, outcome: 'refused_rule', sub: undefined })],
  ])(
    'usage refuses more different %s than fit in memory, and says how to choose less',
    async (_what, other) => {
      async function* lines(): AsyncGenerator<string> {
        for (let index = 1; index <= 100; index += 1) yield* [line(other(index)), line(other(index))]
      }
      await expect(readTallies(lines(), () => true, 99)).rejects.toMatchObject({
        status: 409,
        message: expect.stringMatching(/Choose fewer calls, by since, tool, user or client\.$/),
      })
      expect(await readTallies(lines(), () => true, 100)).toMatchObject({ skipped: 0 })
      expect(await readTallies(lines(), () => false, 0)).toEqual({ tallies: [], skipped: 0 })
    },
  )

  it('usage counts any number of calls of the same users', async () => {
    async function* lines(): AsyncGenerator<string> {
      for (let index = 0; index < 100; index += 1)
        yield* [line({ duration_ms: index }), line({ outcome: 'refused_rule' })]
    }
    expect(await readTallies(lines(), () => true, 1)).toMatchObject({
      tallies: [{ calls: 100, refused: 100, people: 1 }],
    })
  })
})
