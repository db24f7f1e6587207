import { describe, expect, it, onTestFinished } from 'vitest'
import { createSignal } from '@drawbridge/shared/async.ts'
import { parseWireMessage, toWireMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { pipeline, type Send } from '@drawbridge/shared/mcp/pipeline.ts'
import type { Json } from '../../tests/support/remote/received.ts'
import { until } from '../../tests/support/until.ts'
import { systemRuntime } from '../config/system-runtime.ts'
import { SignIns } from '../sign-in/sign-in-attempt.ts'
import { RememberedServer } from '../transport/server-memory.ts'
import { ClientInput, PendingCalls } from './client-calls.ts'
import { RevisionStep } from './revision-step.ts'
import type { RevisionPorts } from './server-revision.ts'

interface Sent {
  method: string
  signal: AbortSignal | undefined
  answer(result: Json): void
  /** Acknowledges a subscription. */
  acknowledge(): void
}

const discovery = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: { listChanged: true } },
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'remote', version: '1' } },
}

/** A step before a connection to a server of 2026-07-28 whose answers the test gives; the client is of 2025-11-25. */
function createAdaptedStep() {
  const sent: Sent[] = []
  const written: Json[] = []
  const notes: string[] = []
  let reopened = 0
  const send: Send = async (message, { deliver, signal }) => {
    const request = parseWireMessage(message) as unknown as Json
    const over = createSignal()
    sent.push({
      method: request['method'] as string,
      signal,
      acknowledge() {
        const params = {
          notifications: request['params'].notifications,
          _meta: { [mcpMetaKey.subscriptionId]: request['id'] },
        }
        const method = 'notifications/subscriptions/acknowledged'
        void deliver(toWireMessage({ jsonrpc: '2.0', method, params }))
      },
      answer(result) {
        void deliver(toWireMessage({ jsonrpc: '2.0', id: request['id'] as number, result }))
        over.give()
      },
    })
    signal?.addEventListener('abort', () => over.give(), { once: true })
    await over.given
    signal?.throwIfAborted()
  }
  const write = async (message: WireMessage): Promise<void> => void written.push(parseWireMessage(message))
  const describeFailure: RevisionPorts['describeFailure'] = (error) => ({
    code: -31_000,
    message: String(error),
  })
  const note = (text: string): void => void notes.push(text)
  const client = new ClientInput()
  const pending = new PendingCalls({ describeFailure, note, write })
  const servers = {
    of: () => ({ send, sendBare: send }),
    reopen: () => (reopened += 1),
    close: async () => {},
  } as unknown as RevisionPorts['servers']
  const revision = new RevisionStep('modern', {
    servers,
    pending,
    client,
    remembered: new RememberedServer({ read: () => undefined, write: () => {} }),
    signIns: new SignIns({
      waitMs: 0,
      openBrowser: () => false,
      say() {},
      succeeded() {},
      randomId: () => 'id',
      runtime: systemRuntime,
    }),
    runtime: systemRuntime,
    describeFailure,
    note,
    randomId: () => 'id',
  })
  onTestFinished(() => revision.close(0))
  const through = pipeline([client, pending], revision.send)
  const receive = (message: Json): void =>
    void through(toWireMessage({ jsonrpc: '2.0', ...message } as never), { era: 'legacy', deliver: write })
  const all = (method: string): Sent[] => sent.filter((one) => one.method === method)
  const find = async (method: string, nth = 1): Promise<Sent> => {
    await until(() => all(method).length >= nth, `request ${nth} for ${method}`)
    return all(method)[nth - 1]!
  }
  return { revision, pending, receive, find, all, written, reopened: () => reopened }
}

async function openSession(step: ReturnType<typeof createAdaptedStep>): Promise<void> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
  step.receive({ id: 'open', method: 'initialize', params })
  const discover = await step.find('server/discover')
  discover.answer(discovery)
  await until(() => step.written.some(({ id }) => id === 'open'), 'the session')
  step.receive({ method: 'notifications/initialized' })
}

describe('a 2025 client of a server of 2026-07-28', () => {
  it('an adapted client listens on a new stream after a sleep, since the old one may be dead unnoticed', async () => {
    const step = createAdaptedStep()
    await openSession(step)
    const { acknowledge } = await step.find('subscriptions/listen')
    acknowledge()
    step.revision.reopen(true)
    await step.find('subscriptions/listen', 2)
    expect(step.reopened()).toBe(1)
  })

  it('an adapted call that is sent again after a sleep gets the answer of the second time, and no error of the first', async () => {
    const step = createAdaptedStep()
    await openSession(step)
    step.receive({ id: 'call', method: 'resources/list' })
    const first = await step.find('resources/list')
    const call = step.pending.get('call')
    expect(call && step.pending.repeat(call)).toBe(true)
    const second = await step.find('resources/list', 2)
    expect(first.signal?.aborted).toBe(true)
    second.answer({ resultType: 'complete', resources: [] })
    await until(() => step.written.some(({ id }) => id === 'call'), 'the answer')
    expect(step.written.filter(({ id }) => id === 'call')).toMatchObject([{ result: { resources: [] } }])
  })
})
