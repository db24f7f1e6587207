import { type JsonObject, isJsonObject } from '../../json-object.ts'
import type { JsonRpcId } from '../json-rpc.ts'
import { mcpMetaKey } from '../mcp-protocol.ts'
import { array, assert, asyncProperty, constantFrom, nat, record } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAdapterFrom2025To2026 } from './2025-to-2026/adapter.ts'
import { createAdapterFrom2026To2025 } from './2026-to-2025/adapter.ts'
import {
  createFakeClock,
  createFakeServer2025,
  createFakeClient,
  createFakeServer2026,
  describeFailure,
  turns,
  type Arrival,
  type FakeClient,
} from '../../../tests/support/adapter/fakes.ts'
import type { Adapter } from './ports.ts'

/**
 * Whatever the order of calls, questions, answers, failures and cancellations: no id is answered twice, each one is answered
 * once unless it was cancelled, and a cancelled one is not answered after its cancellation.
 */

const askParams = { message: 'Name?', requestedSchema: { type: 'object', properties: {} } }
const capabilities = { elicitation: {}, sampling: {}, roots: {} }
const methods = ['tools/call', 'tools/list', 'prompts/get', 'resources/read', 'com.example/own']

const frequent = ['call', 'ask', 'reply']
const kinds = [...frequent, ...frequent, 'finish', 'fail', 'break', 'cancel', 'wait', 'progress']

const step = record({
  what: constantFrom(...kinds),
  /** Picks among whatever there is at that moment. */
  pick: nat(1000),
})
type Step = { what: string; pick: number }

/** What both directions have in common: ids that are sent, cancelled, and answered. */
function createLedger(client: FakeClient, adapter: Adapter) {
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

/** What happens in both directions alike. */
function commonActions(
  clock: ReturnType<typeof createFakeClock>,
  ledger: ReturnType<typeof createLedger>,
  desk: ReturnType<typeof createDesk>,
) {
  return {
    break: (pick: number) => desk.take(pick)?.break(new Error('cut')),
    async cancel(pick: number) {
      const [id] = choose(ledger.open(), pick) ?? []
      if (id !== undefined) await ledger.cancel(id)
    },
    wait: (pick: number) => clock.advance(pick % 4 === 0 ? 700 : pick % 60),
  }
}

type Actions = Record<string, (pick: number) => unknown>

async function perform(steps: readonly Step[], actions: Actions): Promise<void> {
  for (const { what, pick } of steps) {
    await actions[what]!(pick)
    if (pick % 3 !== 0) await turns(pick % 4)
  }
}

async function runLegacy(steps: readonly Step[]): Promise<void> {
  const clock = createFakeClock()
  const client = createFakeClient()
  const server = createFakeServer2026({ tools: {} })
  const adapter = createAdapterFrom2025To2026({ client, server, describeFailure, runtime: clock })
  const ledger = createLedger(client, adapter)
  const desk = createDesk(() => server.all.filter(({ message }) => message.method !== 'server/discover'))
  const replied = new Set<JsonRpcId>()
  const asks = () => client.requests().filter(({ id }) => !replied.has(id))
  await adapter.receive({ jsonrpc: '2.0', id: 'init', method: 'initialize', params: { capabilities } })

  const actions: Actions = {
    ...commonActions(clock, ledger, desk),
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

async function runModern(steps: readonly Step[]): Promise<void> {
  const clock = createFakeClock()
  const client = createFakeClient()
  const server = createFakeServer2025({ tools: {} })
  const adapter = createAdapterFrom2026To2025({
    client,
    server,
    describeFailure,
    runtime: clock,
    warn: () => {},
  })
  const ledger = createLedger(client, adapter)
  const desk = createDesk(() => server.sessions.flatMap(({ all }) => all))
  const requests = new Map<JsonRpcId, { method: string; params: JsonObject }>()
  const retried = new Set<JsonRpcId>()
  let lastAsk = 0

  async function send(method: string, params: JsonObject): Promise<void> {
    const id = ledger.newId()
    requests.set(id, { method, params })
    const _meta = {
      [mcpMetaKey.protocolVersion]: '2026-07-28',
      [mcpMetaKey.clientCapabilities]: capabilities,
      progressToken: id,
    }
    await adapter.receive({ jsonrpc: '2.0', id, method, params: { ...params, _meta } })
  }

  /** The answers that ask for more and have not led to a retry. */
  function rounds() {
    return [...requests].flatMap(([id, request]) => {
      const [response] = client.responses(id)
      if (response === undefined || !('result' in response) || retried.has(id)) return []
      const result = isJsonObject(response.result) ? response.result : {}
      return result['resultType'] === 'input_required' ? [{ id, request, result }] : []
    })
  }

  const actions: Actions = {
    ...commonActions(clock, ledger, desk),
    call: (pick) => send(choose(methods, pick)!, { name: 'a', uri: 'x:1' }),
    async ask(pick) {
      lastAsk += 1
      await choose(desk.open(), pick)?.say({
        jsonrpc: '2.0',
        id: lastAsk,
        method: 'elicitation/create',
        params: askParams,
      })
    },
    async reply(pick) {
      const round = choose(rounds(), pick)
      if (round === undefined) return
      // A state is good once: using it again is answered with an error, and is an answer too.
      if (pick % 7 !== 0) retried.add(round.id)
      const { method, params } = round.request
      const keys = Object.keys(round.result['inputRequests'] as JsonObject)
      const given = pick % 5 === 0 ? keys.slice(1) : keys
      const inputResponses = Object.fromEntries(given.map((key) => [key, { action: 'accept' }]))
      await send(method, { ...params, inputResponses, requestState: round.result['requestState'] })
    },
    finish: (pick) => desk.take(pick)?.answer({ content: [] }),
    fail: (pick) => {
      const elicitations = [{ mode: 'url', url: 'https://x.example', message: 'Go', elicitationId: 'e' }]
      desk.take(pick)?.fail(pick % 2 === 0 ? -32_042 : -32_002, 'no', { elicitations })
    },
    progress: (pick) => {
      const arrival = choose(desk.open(), pick)
      return arrival?.say({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken: arrival.message.id, progress: pick },
      })
    },
  }
  await perform(steps, actions)
  for (let round = 0; round < 30 && (ledger.open().length > 0 || desk.open().length > 0); round += 1) {
    await turns()
    while (desk.open().length > 0) await actions['finish']!(0)
    while (rounds().length > 0) await actions['reply']!(1)
    await clock.advance(1)
  }
  ledger.check()
  await adapter.close()
}

describe('any order of things', () => {
  it('is answered once each: 2025 client, 2026 server', async () => {
    await assert(asyncProperty(array(step, { maxLength: 60, size: 'max' }), runLegacy), { numRuns: 150 })
  })

  it('is answered once each: 2026 client, 2025 server', async () => {
    await assert(asyncProperty(array(step, { maxLength: 60, size: 'max' }), runModern), { numRuns: 150 })
  })
})
