import { describe, expect, it } from 'vitest'
import { publicClient } from '../../../tests/support/server/core/sign-in-sample.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { type Client, type ClientFinder, ClientUnavailableError } from '../../core/clients/client.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { json } from '../response.ts'
import { type ClientFormHandler, createClientEndpoint } from './client-endpoint.ts'
import { everyone } from '../middleware/cors.ts'
import { createHttpApp } from '../app.ts'

const baseUrl = 'http://localhost:8787'

interface Posted {
  response: Response
  reported: unknown[]
}

async function post(
  findClient: ClientFinder['findClient'],
  answer: ClientFormHandler,
  fields: Record<string, string> = { client_id: 'mcpc_public' },
): Promise<Posted> {
  const reported: unknown[] = []
  const authentication = {
    clients: { findClient },
    store: openMemoryStore(),
    runtime: createFakeRuntime(),
    issuer: baseUrl,
    tokenEndpoint: `${baseUrl}/oauth/token`,
    fetchKeys: () => Promise.reject(new Error('No keys are fetched here.')),
  }
  const endpoint = createClientEndpoint('/x', everyone, { authentication }, answer)
  const createContext = () => ({
    id: 'request',
    address: '192.0.2.1',
    report: (event: string, given?: Record<string, unknown>) => void reported.push([event, given]),
  })
  const router = createHttpApp([endpoint], { baseUrl, allowedHosts: [], createContext })
  const body = new URLSearchParams(fields)
  return { response: await router(new Request(`${baseUrl}/x`, { method: 'POST', body })), reported }
}

const echo: ClientFormHandler = async (client, form, context) =>
  json({ client: client.id, given: form.get('given'), address: context.address })

describe('createClientEndpoint', () => {
  it('hands on the client that has proven itself, its form and where it comes from', async () => {
    const fields = { client_id: 'mcpc_public', given: 'x' }
    const { response } = await post(async () => publicClient(), echo, fields)
    expect(await response.json()).toEqual({ client: 'mcpc_public', given: 'x', address: '192.0.2.1' })
  })

  it('RFC 6749 5.2: who the client is comes before what it wants', async () => {
    const never: ClientFormHandler = () => Promise.reject(new Error('Asked without a client.'))
    const { response } = await post(async () => undefined, never)
    expect([response.status, await response.json()]).toEqual([
      401,
      expect.objectContaining({ error: 'invalid_client' }),
    ])
  })

  it('RFC 9110 10.2.3: a client whose document cannot be fetched comes again, and keeps its tokens', async () => {
    const cause = new ClientUnavailableError('The document cannot be fetched.')
    const { response, reported } = await post(() => Promise.reject<Client>(cause), echo)
    expect([response.status, await response.json()]).toEqual([
      503,
      expect.objectContaining({ error: 'temporarily_unavailable' }),
    ])
    expect(response.headers.get('retry-after')).toBe('5')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(reported).toEqual([
      ['request_refused', expect.objectContaining({ code: 'temporarily_unavailable', error: cause })],
    ])
  })
})
