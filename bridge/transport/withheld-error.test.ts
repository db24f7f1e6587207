import { jsonRpcError, toWireMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { expect, it } from 'vitest'
import { answeredError, withholdError } from './withheld-error.ts'

const request = toWireMessage({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
const progress = toWireMessage({ jsonrpc: '2.0', method: 'notifications/progress' })
const result = toWireMessage({ jsonrpc: '2.0', id: 1, result: {} })
const error: WireMessage = { ...toWireMessage(jsonRpcError(1, -32_000, 'no')), status: 400 }

async function sent(
  answers: readonly WireMessage[],
  failure?: Error,
  isWithheld?: (answer: WireMessage) => boolean,
): Promise<{ delivered: WireMessage[]; withheld: Awaited<ReturnType<typeof withholdError>> }> {
  const delivered: WireMessage[] = []
  const withheld = await withholdError(
    async (_, { deliver }) => {
      for (const answer of answers) await deliver(answer)
      if (failure) throw failure
    },
    request,
    { deliver: (answer) => void delivered.push(answer) },
    isWithheld,
  )
  return { delivered, withheld }
}

it('withholdError delivers notifications and the result, and withholds nothing then', async () => {
  expect(await sent([progress, result])).toEqual({ delivered: [progress, result], withheld: undefined })
})

it('withholdError withholds a JSON-RPC error, and delivers it when it is released', async () => {
  const { delivered, withheld } = await sent([progress, error])
  expect(delivered).toEqual([progress])
  expect(withheld?.failure).toMatchObject({ fault: 'refused', status: 400, response: error })
  await withheld?.release()
  expect(delivered).toEqual([progress, error])
})

it('withholdError withholds a failure, and rejects with it when it is released', async () => {
  const failure = new Error('cut')
  const { withheld } = await sent([], failure)
  expect(withheld?.failure).toBe(failure)
  await expect(withheld?.release()).rejects.toBe(failure)
})

it('withholdError withholds the responses that the caller chooses', async () => {
  expect((await sent([error], undefined, () => false)).delivered).toEqual([error])
  expect((await sent([progress, result], undefined, () => true)).delivered).toEqual([progress])
})

it('an error that came with 200 becomes a failure without a status', () => {
  expect(answeredError(toWireMessage(jsonRpcError(1, -32_000, 'no'))).status).toBeUndefined()
})
