import type { JsonRpcId } from '../json-rpc.ts'
import { array, assert, asyncProperty, constantFrom, nat, record } from 'fast-check'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import {
  connectAdapter,
  type ConnectedAdapter,
  createFakeClock,
  createFakeClient,
  createFakeServer2026,
  turns,
  type Arrival,
  type FakeClient,
} from '../../../tests/support/adapter/fakes.ts'

/**
 * In any order of calls, questions, answers, failures and cancellations no id is answered twice, each one is answered
 * once unless it was cancelled, and a cancelled one is not answered after its cancellation.
 */

const askParams = { message: 'Name?', requestedSchema: { type: 'object', properties: {} } }
const capabilities = { elicitation: {}, sampling: {}, roots: {} }
const methods = ['tools/call', 'tools/list', 'prompts/get', 'resources/read', 'com.example/own']

const frequent = ['call', 'ask', 'reply']
const kinds = [...frequent, ...frequent, 'finish', 'fail', 'break', 'cancel', 'wait', 'progress']

const step = record({
  what: constantFrom(...kinds),
  /** Picks among the open items at that moment. */
  pick: nat(1000),
})
type Step = { what: string; pick: number }

/** The ids that are sent, cancelled, and answered. */
function createLedger(client: FakeClient, adapter: ConnectedAdapter) {
  const sent = new Map<JsonRpcId, { cancelled: number | undefined }>()
  let lastId = 0
  return {
    newId(): JsonRpcId {
      lastId += 1
      const id = lastId % 2 === 0 ? lastId : String(lastId)
      sent.set(id, { cancelled: undefined })
      return id
    },
    open: () =>
      [...sent].filter(([id, { cancelled }]) => cancelled === undefined && client.responses(id).length === 0),
    async cancel(id: JsonRpcId) {
      sent.get(id)!.cancelled = client.responses(id).length
      await adapter.receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
    },
    check() {
      for (const [id, { cancelled }] of sent)
        expect([id, client.responses(id).length]).toEqual([id, cancelled ?? 1])
    },
  }
}

function choose<T>(items: readonly T[], pick: number): T | undefined {
  return items[pick % Math.max(items.length, 1)]
}

/** The requests at a fake server that are neither answered nor aborted. */
function createDesk(all: () => readonly Arrival[]) {
  const done = new Set<Arrival>()
  const open = () => all().filter((each) => !done.has(each) && !each.options.signal?.aborted)
  return {
    open,
    take(pick: number) {
      const found = choose(open(), pick)
      if (found !== undefined) done.add(found)
      return found
    },
  }
}

type Actions = Record<string, (pick: number) => unknown>

async function perform(steps: readonly Step[], actions: Actions): Promise<void> {
  for (const { what, pick } of steps) {
    await actions[what]!(pick)
    if (pick % 3 !== 0) await turns(pick % 4)
  }
}

async function answersOnce(steps: readonly Step[]): Promise<void> {
  const clock = createFakeClock()
  const client = createFakeClient()
  const server = createFakeServer2026({ tools: {} })
  const adapter = connectAdapter({ client, server, runtime: clock })
  const ledger = createLedger(client, adapter)
  const desk = createDesk(() => server.all.filter(({ message }) => message.method !== 'server/discover'))
  const replied = new Set<JsonRpcId>()
  const asks = () => client.requests().filter(({ id }) => !replied.has(id))
  await adapter.receive({ jsonrpc: '2.0', id: 'init', method: 'initialize', params: { capabilities } })

  const actions: Actions = {
    break: (pick) => desk.take(pick)?.break(new Error('cut')),
    async cancel(pick) {
      const [id] = choose(ledger.open(), pick) ?? []
      if (id !== undefined) await ledger.cancel(id)
    },
    wait: (pick) => clock.advance(pick % 4 === 0 ? 700 : pick % 60),
    async call(pick) {
      const method = choose(methods, pick)!
      const params = { name: 'a', uri: 'x:1', _meta: { progressToken: pick } }
      await adapter.receive({ jsonrpc: '2.0', id: ledger.newId(), method, params })
    },
    ask(pick) {
      const inputRequests = Object.fromEntries(
        Array.from({ length: pick % 3 }, (_, index) => [
          `k${index}`,
          { method: 'elicitation/create', params: askParams },
        ]),
      )
      const state = pick % 2 === 0 ? { requestState: 's' } : {}
      desk.take(pick)?.answer({ resultType: 'input_required', inputRequests, ...state })
    },
    async reply(pick) {
      const ask = choose(asks(), pick)
      if (ask === undefined) return
      // Twice now and then: the second one answers nothing.
      if (pick % 7 !== 0) replied.add(ask.id)
      const error = { code: -1, message: 'no' }
      await adapter.receive(
        pick % 5 === 0
          ? { jsonrpc: '2.0', id: ask.id, error }
          : { jsonrpc: '2.0', id: ask.id, result: { action: 'accept' } },
      )
    },
    finish: (pick) => desk.take(pick)?.answer({ resultType: 'complete', tools: [], content: [] }),
    fail: (pick) => desk.take(pick)?.fail(pick % 2 === 0 ? -32_020 : -32_602, 'no'),
    progress: (pick) =>
      choose(desk.open(), pick)?.say({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken: pick, progress: pick },
      }),
  }
  await perform(steps, actions)
  for (let round = 0; round < 30 && ledger.open().length > 0; round += 1) {
    await turns()
    while (desk.open().length > 0) await actions['finish']!(0)
    while (asks().length > 0) await actions['reply']!(1)
    await clock.advance(1)
  }
  ledger.check()
  await adapter.close()
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

it('the adapter answers each request once, or never if it was cancelled, in any order of events', async () => {
  await assert(asyncProperty(array(step, { maxLength: 60, size: 'max' }), answersOnce), { numRuns: 150 })
})
