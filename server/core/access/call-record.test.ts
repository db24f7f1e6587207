import { describe, expect, it } from 'vitest'
import { type Call, type CallEnd, callOf, callsOf, IncomingCalls } from './call-record.ts'

const tool = (name: string): Call => ({ event: 'tool_called', field: 'tool', name })
const resource = (name: string): Call => ({ event: 'resource_read', field: 'resource', name })

describe('the call in a message', () => {
  it.each<[what: string, message: unknown, call: Call | undefined]>([
    ['a call of a tool', { id: 1, method: 'tools/call', params: { name: 'a' } }, tool('a')],
    ['a call with the id 0', { id: 0, method: 'tools/call', params: { name: 'a' } }, tool('a')],
    ['a call with the id null', { id: null, method: 'tools/call', params: { name: 'a' } }, tool('a')],
    [
      'a prompt',
      { id: 1, method: 'prompts/get', params: { name: 'p' } },
      { event: 'prompt_got', field: 'prompt', name: 'p' },
    ],
    [
      'a tool whose name looks like a query',
      { id: 1, method: 'tools/call', params: { name: 'a?b#c' } },
      tool('a?b#c'),
    ],
    ['a tool without a name', { id: 1, method: 'tools/call', params: {} }, tool('')],
    ['a tool whose name is a number', { id: 1, method: 'tools/call', params: { name: 7 } }, tool('')],
    [
      'a tool call whose parameters are not an object',
      { id: 1, method: 'tools/call', params: ['a'] },
      tool(''),
    ],
    ['a tool call without parameters', { id: 1, method: 'tools/call' }, tool('')],
    ['a notification', { method: 'tools/call', params: { name: 'a' } }, undefined],
    ['another method', { id: 1, method: 'tools/list', params: { name: 'a' } }, undefined],
    ['a method that every object has', { id: 1, method: 'constructor', params: { name: 'a' } }, undefined],
    ['a method that is not a string', { id: 1, method: ['tools/call'], params: { name: 'a' } }, undefined],
    ['a message that is not an object', 'tools/call', undefined],
    ['no message', undefined, undefined],
  ])('the call record reads the call of a message: %s', (_what, message, call) => {
    expect(callOf(message)).toEqual(call)
  })

  it.each([
    ['note://2?token=secret#x', 'note://2'],
    ['note://3#secret', 'note://3'],
    ['note://4#secret?x', 'note://4'],
    ['note://5?a=secret\n&b=more', 'note://5'],
    ['note://6', 'note://6'],
  ])('the resource %j is recorded without query and fragment, as %s', (uri, name) => {
    expect(callOf({ id: 1, method: 'resources/read', params: { uri, name: 'other' } })).toEqual(
      resource(name),
    )
  })

  it('the call record of a batch has all calls in order, and nothing else', () => {
    const [a, b] = ['a', 'b'].map((name) => ({ id: name, method: 'tools/call', params: { name } }))
    expect(callsOf([a, { method: 'x' }, 7, { id: 1, method: 'ping' }, b])).toEqual([tool('a'), tool('b')])
    expect(callsOf(a)).toEqual([tool('a')])
    expect(callsOf([])).toEqual([])
  })
})

describe('the record of a call', () => {
  let [now, over]: number[] = []
  let events: [event: string, fields: Record<string, unknown>][]
  let called: string[]
  const start = (changes: Partial<ConstructorParameters<typeof IncomingCalls>[0]> = {}): IncomingCalls => {
    ;[now, over, events, called] = [5000, 0, [], []]
    return new IncomingCalls({
      caller: {
        user: { sub: 'ada' },
        clientId: 'client',
        grantId: 'grant',
        workspace: { id: 'sales' },
        credential: 'access_token',
      },
      revision: '2025-11-25',
      requestBytes: 100,
      report: (event, fields) => void events.push([event, fields]),
      nowMs: () => now ?? 0,
      called: (name) => void called.push(name),
      over: () => void (over = (over ?? 0) + 1),
      ...changes,
    })
  }
  const ok: CallEnd = { outcome: 'ok', isKnown: true, responseBytes: 20 }

  it('a call record has who called what, how it ended, the sizes, and the time to a tenth of a millisecond', () => {
    const end = start().begin(tool('a'))
    now = 5012.3456
    end(ok)
    expect(events).toEqual([
      [
        'tool_called',
        {
          sub: 'ada',
          client_id: 'client',
          grant_id: 'grant',
          workspace: 'sales',
          credential: 'access_token',
          tool: 'a',
          revision: '2025-11-25',
          outcome: 'ok',
          duration_ms: 12.3,
          request_bytes: 100,
          response_bytes: 20,
        },
      ],
    ])
  })

  it('a call record says that a name is unknown, or that nothing was listed yet', () => {
    const calls = start()
    calls.begin(tool('a'))({ ...ok, isKnown: false })
    calls.begin(tool('a'))({ ...ok, isKnown: undefined })
    calls.begin(tool('a'))(ok)
    expect(events.map(([, { unknown, unlisted }]) => [unknown, unlisted])).toEqual([
      [true, undefined],
      [undefined, true],
      [undefined, undefined],
    ])
  })

  it('a call record of a refusal has no duration', () => {
    const calls = start()
    now = 9000
    calls.refuse(resource('note://1'), { outcome: 'refused_limit', isKnown: true })
    expect(events).toEqual([
      [
        'resource_read',
        expect.objectContaining({ resource: 'note://1', outcome: 'refused_limit', duration_ms: 0 }),
      ],
    ])
  })

  it('a call record cuts a long name to its first two hundred characters', () => {
    start().refuse(tool(`${'x'.repeat(200)}y`), { outcome: 'failed', isKnown: false })
    expect(events[0]?.[1]['tool']).toBe('x'.repeat(200))
  })

  it.each<[what: string, call: Call, end: Partial<CallEnd>, names: string[]]>([
    ['one that succeeds', tool('a'), {}, ['a']],
    ['one that fails', tool('a'), { outcome: 'failed' }, ['a']],
    ['one that is refused', tool('a'), { outcome: 'refused_rule' }, []],
    ['of an unknown tool', tool('a'), { isKnown: false }, []],
    ['of a tool that is not listed yet', tool('a'), { isKnown: undefined }, []],
    ['of a resource', resource('a'), {}, []],
  ])('the call record tells which tools are used: %s', (_what, call, end, names) => {
    start().begin(call)({ ...ok, ...end })
    expect(called).toEqual(names)
  })

  it('a call record is made without a user and without a listener, too', () => {
    const nobody = {
      user: undefined,
      clientId: undefined,
      grantId: undefined,
      workspace: undefined,
      credential: 'none',
    }
    const calls = start({ caller: nobody, called: undefined as never, over: undefined as never })
    calls.begin(tool('a'))(ok)
    calls.over()
    expect(events[0]?.[1]).toMatchObject({ sub: undefined, credential: 'none' })
  })

  it('the call record reports once that all calls of a request are over', () => {
    const calls = start()
    calls.begin(tool('a'))(ok)
    expect(over).toBe(0)
    calls.over()
    calls.over()
    expect(over).toBe(1)
  })
})
