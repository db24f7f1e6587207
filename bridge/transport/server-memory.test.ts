import { readMessage, toWireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { describe, expect, it } from 'vitest'
import { RememberedServer, type ServerMemory } from './server-memory.ts'

function create(before?: ServerMemory): { remembered: RememberedServer; written: ServerMemory[] } {
  const written: ServerMemory[] = []
  const write = (memory: ServerMemory): void => void written.push(memory)
  return { remembered: new RememberedServer({ read: () => before, write }), written }
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

it('flush writes pending changes, once', async () => {
  const { remembered, written } = create()
  remembered.learn({ era: 'modern', transport: 'http' })
  remembered.flush()
  expect(written).toHaveLength(1)
  await turn()
  remembered.flush()
  expect(written).toHaveLength(1)
})

it('changes of one turn are written once, and only when the memory is complete', async () => {
  const { remembered, written } = create()
  remembered.learn({ tools: [{ name: 'a' }] })
  await turn()
  expect(written).toEqual([])
  expect(remembered.known()).toBeUndefined()
  remembered.learn({ era: 'legacy', transport: 'http' })
  remembered.learn({ initializeResult: { a: 1 } })
  await turn()
  expect(written).toEqual([
    { era: 'legacy', transport: 'http', initializeResult: { a: 1 }, tools: [{ name: 'a' }] },
  ])
})

it('known facts are not written again', async () => {
  const { remembered, written } = create({ era: 'modern', transport: 'http', tools: [] })
  remembered.learn({ era: 'modern', tools: [] })
  await turn()
  expect(written).toEqual([])
})

describe('the memory after a response', () => {
  const seen: string[] = []
  const answered = async (
    remembered: RememberedServer,
    method: string,
    result: unknown,
    params?: object,
  ): Promise<ServerMemory | undefined> => {
    seen.length = 0
    remembered.onSeen = (era) => void seen.push(era)
    const request = toWireMessage({
      jsonrpc: '2.0',
      id: 1,
      method,
      ...(params && { params: params as never }),
    })
    const answer = { jsonrpc: '2.0', id: 1, result }
    remembered.answered('http', request, readMessage(Buffer.from(JSON.stringify(answer))))
    await turn()
    return remembered.known()
  }
  const discovery = {
    supportedVersions: ['2026-07-28'],
    capabilities: {},
    serverInfo: { name: 's', version: '1' },
  }

  it.each<[method: string, result: unknown, era: string | undefined]>([
    ['initialize', { protocolVersion: '2025-11-25' }, 'legacy'],
    ['initialize', 7, undefined],
    ['server/discover', discovery, 'modern'],
    ['server/discover', {}, undefined],
  ])('the memory learns from %s with %j: %s', async (method, result, era) => {
    const known = await answered(create().remembered, method, result)
    expect(known?.era).toBe(era)
    expect(seen).toEqual(era === undefined ? [] : [era])
    expect(known?.initializeResult ?? known?.discoverResult).toEqual(era === undefined ? undefined : result)
    expect(known?.initializeResult !== undefined).toBe(era === 'legacy')
  })

  it('the pages of a list of tools form one list, and a first page begins another', async () => {
    const { remembered } = create({ era: 'legacy', transport: 'http' })
    const list = (tools: unknown, cursor?: string): Promise<ServerMemory | undefined> =>
      answered(remembered, 'tools/list', { tools }, cursor === undefined ? undefined : { cursor })
    expect((await list([{ name: 'a' }, 'rubbish']))?.tools).toEqual([{ name: 'a' }])
    expect((await list([{ name: 'b' }], '2'))?.tools).toEqual([{ name: 'a' }, { name: 'b' }])
    expect((await list('none', '3'))?.tools).toEqual([{ name: 'a' }, { name: 'b' }])
    expect((await list([{ name: 'c' }]))?.tools).toEqual([{ name: 'c' }])
    expect(seen).toEqual([])
  })

  it('a list of tools beyond eight megabytes is not extended until its next first page', async () => {
    const { remembered } = create({ era: 'legacy', transport: 'http' })
    const large = (name: string): object => ({ name, description: 'x'.repeat(4_100_000) })
    await answered(remembered, 'tools/list', { tools: [large('a')] }, {})
    const known = await answered(remembered, 'tools/list', { tools: [large('b')] }, { cursor: '2' })
    expect(known?.tools?.map(({ name }) => name)).toEqual(['a'])
    expect((await answered(remembered, 'tools/list', { tools: [{ name: 'c' }] }))?.tools).toEqual([
      { name: 'c' },
    ])
  })

  it('a result nested too deeply is ignored', async () => {
    let deep: unknown = 1
    for (let level = 0; level < 2000; level += 1) deep = [deep]
    expect(await answered(create().remembered, 'initialize', { deep })).toBeUndefined()
  })
})

it.each([
  [{ transport: 'http' }, false],
  [{ era: 'legacy' }, false],
  [{ era: 'legacy', transport: 'http' }, true],
] as [Partial<ServerMemory>, boolean][])(
  'a stored memory of %j counts as complete: %s',
  (before, isKnown) => {
    expect(create(before as ServerMemory).remembered.known() !== undefined).toBe(isKnown)
  },
)

it('one new fact among known ones is written, once per turn', async () => {
  const before: ServerMemory = { era: 'legacy', transport: 'http' }
  const { remembered, written } = create(before)
  remembered.learn({ era: 'legacy', tools: [] })
  remembered.learn({ initializeResult: { a: 1 } })
  remembered.learn({ initializeResult: { a: 1 } })
  await turn()
  await turn()
  expect(written).toEqual([{ ...before, tools: [], initializeResult: { a: 1 } }])
})

it('a response to no request is ignored', () => {
  const { remembered } = create()
  const notification = toWireMessage({ jsonrpc: '2.0', method: 'initialize' })
  remembered.answered(
    'http',
    notification,
    readMessage(Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"a":1}}')),
  )
  remembered.answered('http', toWireMessage({ jsonrpc: '2.0', id: 1, method: 'initialize' }), notification)
  expect(remembered.known()).toBeUndefined()
})
