import { expect, it } from 'vitest'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { type Client, type ClientFinder, ClientUnavailableError } from '../../core/clients/client.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { createClientEndpoint } from './client-endpoint.ts'
import { everyone } from '../middleware/cors.ts'
import { createHttpApp } from '../http-app.ts'
import { plainLook } from '../../../tests/support/pages/view-sample.ts'

const baseUrl = 'http://localhost:8787'

interface Posted {
  response: Response
  reported: unknown[]
}

async function post(findClient: ClientFinder['findClient']): Promise<Posted> {
  const reported: unknown[] = []
  const authentication = {
    clients: { findClient },
    store: openMemoryStore(),
    runtime: createFakeRuntime(),
    issuer: baseUrl,
    tokenEndpoint: `${baseUrl}/oauth/token`,
    fetchKeys: () => Promise.reject(new Error('No keys are fetched here.')),
  }
  const endpoint = createClientEndpoint('/x', everyone, { authentication }, () =>
    Promise.reject(new Error('Asked without a client.')),
  )
  const createContext = () => ({
    id: 'request',
    address: '192.0.2.1',
    report: (event: string, given?: Record<string, unknown>) => void reported.push([event, given]),
  })
  const router = createHttpApp([endpoint], { baseUrl, look: plainLook, createContext })
  const body = new URLSearchParams({ client_id: 'mcpc_public' })
  return { response: await router(new Request(`${baseUrl}/x`, { method: 'POST', body })), reported }
}

it.each([
  [new ClientUnavailableError('The document cannot be fetched.'), 503, '5'],
  [new ClientUnavailableError('Too many documents.', 'limited', { retryAfterSeconds: 17 }), 429, '17'],
])(
  'RFC 9110 10.2.3: a client whose document cannot be fetched comes again, and keeps its tokens: %s',
  async (cause, status, retryAfter) => {
    const { response, reported } = await post(() => Promise.reject<Client>(cause))
    expect([response.status, await response.json()]).toEqual([
      status,
      expect.objectContaining({ error: 'temporarily_unavailable' }),
    ])
    expect(response.headers.get('retry-after')).toBe(retryAfter)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(reported).toEqual([
      ['request_refused', expect.objectContaining({ code: 'temporarily_unavailable', error: cause })],
    ])
  },
)
