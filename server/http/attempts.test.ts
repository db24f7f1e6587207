import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  baseUrl,
  type DrawbridgeFixture,
  startDrawbridge,
} from '../../tests/support/server/drawbridge-fixture.ts'
import { type AttemptFacts, readAttempts } from '../core/attempts/attempt-list.ts'

let drawbridge: DrawbridgeFixture

beforeEach(async () => {
  drawbridge = await startDrawbridge()
})
afterEach(() => drawbridge.close())

/** Reads the attempts as an operator does `laterSeconds` later. */
async function attempts(laterSeconds = 0): Promise<AttemptFacts[]> {
  const { app, runtime } = drawbridge
  await app.store.listAttemptSteps(1)
  await new Promise((resolve) => setTimeout(resolve, 1200))
  const ports = { store: app.store, configured: new Map(), runtime: { now: () => runtime.now() + laterSeconds } }
  return readAttempts({}, 100, ports)
}

const text = ({ client, result, steps }: AttemptFacts): string =>
  [
    client,
    result,
    ...steps.map(({ step, ok, detail }) => `${ok ? '' : '!'}${step}${detail === undefined ? '' : `:${detail}`}`),
  ].join(' ')

const discover = async (): Promise<void> => {
  await drawbridge.mcp({ jsonrpc: '2.0', id: 1, method: 'initialize' })
  await drawbridge.fetch('/.well-known/oauth-protected-resource/mcp')
  await drawbridge.fetch('/.well-known/oauth-authorization-server')
}

describe('an attempt to connect', () => {
  it('is one story from the challenge to the list', async () => {
    await discover()
    const { tokens } = await drawbridge.connect()
    const headers = { authorization: `Bearer ${tokens.access_token}` }
    await drawbridge.mcp({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, headers)
    const found = await attempts()
    console.log(JSON.stringify(found, null, 1))
    expect(found.map(text)).toEqual([
      'Test client connected challenge resource_metadata server_metadata register page sign_in code token first_call list',
    ])
  })

  it('tells what is missing', async () => {
    await discover()
    const { client_id: id } = await drawbridge.register()
    await drawbridge.code(id)
    const found = await attempts(120)
    console.log(JSON.stringify(found.map(f=>[text(f),f.advice]), null, 1))
  })
})
