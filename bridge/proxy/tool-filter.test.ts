import { expect, it } from 'vitest'
import { parseJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { toWireMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { ToolFilter } from './tool-filter.ts'

it.each([
  [[], [], 'a', undefined],
  [[], ['a'], 'a', '--ignore-tool'],
  [[], ['a'], 'ab', undefined],
  [['a'], [], 'a', undefined],
  [['a'], [], 'b', '--allow-tool'],
  [['a*'], ['*b'], 'ab', '--ignore-tool'],
  [['a*'], ['*b'], 'ac', undefined],
  [[], [''], 'a', undefined],
] as const)('a filter that allows %j and denies %j refuses the tool %s by %s', (allow, deny, name, flag) => {
  const reason = new ToolFilter({ allow, deny }).reasonAgainst(name)
  if (flag === undefined) expect(reason).toBeUndefined()
  else expect(reason).toContain(flag)
})

it('tools without a name and the sign-in tool pass the filter', async () => {
  const filter = new ToolFilter({ allow: ['x'], deny: [] })
  filter.exempt('sign_in')
  const list = async (result: JsonObject): Promise<unknown> => {
    const delivered: WireMessage[] = []
    const context = { era: 'legacy', deliver: (answer: WireMessage) => void delivered.push(answer) } as const
    const message = toWireMessage({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    await filter.send(message, context, async (_, { deliver }) =>
      deliver(toWireMessage({ jsonrpc: '2.0', id: 1, result })),
    )
    return parseJsonObject(delivered[0]?.text ?? '')?.['result']
  }
  const tools = [{ name: 'x' }, { name: 'y' }, { name: 'sign_in' }, 7]
  expect(await list({ tools, other: 1 })).toEqual({
    tools: [{ name: 'x' }, { name: 'sign_in' }, 7],
    other: 1,
  })
  expect(await list({ tools: 'none' })).toEqual({ tools: 'none' })
})
