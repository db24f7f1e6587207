import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { configSample } from '../../../tests/support/server/config-sample.ts'
import { startDrawbridge } from '../../../tests/support/server/drawbridge-fixture.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { findingsOf } from '@drawbridge/shared/terminal/check.ts'
import { probeBaseUrl, baseUrlChecks, type BaseUrlFacts } from './base-url-check.ts'
import { probeOutside, outsideChecks } from './outside-check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'

const baseUrl = 'http://localhost:8787/base'
const config = configSample({ baseUrl })
// Between the two events of the stream check.
const runtime = { ...createFakeRuntime(), sleep: () => delay(400) }
const server = await startDrawbridge({ baseUrl }, runtime)
afterAll(() => server.close())

type Proxy = (request: Request, pass: () => Promise<Response>) => Response | Promise<Response>

const fetchThrough =
  (proxy: Proxy) =>
  async (request: Request): Promise<Response> =>
    proxy(request, () => server.app.fetch(request))

/** The server as it is seen through a proxy that does something to requests and answers. */
function through(proxy: Proxy): Promise<BaseUrlFacts> {
  return probeBaseUrl(config, { fetch: fetchThrough(proxy) }, true)
}

function failed(findings: readonly Finding[]): string[] {
  return findings.filter(({ state }) => state !== 'ok').map(({ name, state }) => `${name} ${state}`)
}

describe('doctor', () => {
  const refused = (): never => {
    throw new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) })
  }

  it.each([
    ['https://mcp.example.com:8443', 'public-port warn'],
    ['https://mcp.example.com', 'public-port ok'],
    ['http://localhost:8787', undefined],
  ])('doctor names the port of %s, which hosted clients have to reach', async (base, expected) => {
    const facts = { ...(await through(refused)), config: configSample({ baseUrl: base }) }
    const found = findingsOf(baseUrlChecks, facts).find(({ name }) => name === 'public-port')
    expect(found && `${found.name} ${found.state}`).toBe(expected)
  })

  it('doctor passes a BASE_URL at which this server answers', async () => {
    const findings = findingsOf(baseUrlChecks, await through((_, pass) => pass()))
    expect(findings.map(({ name, state }) => `${name} ${state}`)).toEqual(['base-url ok'])
  })

  it.each([
    [true, 'fail'],
    [false, 'warn'],
    [undefined, 'warn'],
  ])(
    'doctor reports a BASE_URL without an answer, while a server runs (%s), as %s',
    async (isRunning, state) => {
      expect(failed(findingsOf(baseUrlChecks, { ...(await through(refused)), isRunning }))).toEqual([
        `base-url ${state}`,
      ])
    },
  )

  it('doctor fails a BASE_URL at which another program answers', async () => {
    const page = await through(() => new Response('<html>', { status: 200 }))
    expect(failed(findingsOf(baseUrlChecks, page))).toEqual(['base-url fail'])
    const missing = await through(() => Response.json({ error: 'not found' }, { status: 404 }))
    expect(findingsOf(baseUrlChecks, missing)[0]?.message).toContain('answers 404')
  })

  it('doctor fails a BASE_URL at which a server with another BASE_URL answers', async () => {
    const other = await through(() => Response.json({ issuer: 'http://localhost:8787' }))
    const findings = findingsOf(baseUrlChecks, other)
    expect(failed(findings)).toEqual(['base-url fail'])
    expect(findings[0]?.message).toContain('calls itself "http://localhost:8787"')
  })

  const refuses = (status: number, isMeant: (request: Request) => boolean): Proxy => {
    return (request, pass) => (isMeant(request) ? new Response('', { status }) : pass())
  }

  const changesStatus = (isMeant: (request: Request) => boolean): Proxy => {
    return async (request, pass) => {
      const response = await pass()
      return isMeant(request)
        ? new Response(response.body, { status: 403, headers: response.headers })
        : response
    }
  }

  it.each<[what: string, proxy: Proxy, name: string]>([
    [
      'answers 403 with the challenge',
      changesStatus(({ method, headers }) => method === 'POST' && !headers.has('authorization')),
      'challenge fail',
    ],
    [
      'answers 403 to an unknown token',
      changesStatus(({ headers }) => headers.has('authorization')),
      'keeps-headers fail',
    ],
    [
      'keeps the resource metadata to itself',
      refuses(404, ({ url }) => url.includes('protected-resource')),
      'exact-paths fail',
    ],
    ['takes the challenge away', refuses(401, ({ method }) => method === 'POST'), 'challenge fail'],
    [
      'demands a sign-in of its own at /mcp',
      refuses(302, ({ method }) => method === 'POST'),
      'challenge fail',
    ],
  ])('doctor reports a proxy that %s', async (_, proxy, name) => {
    expect(failed(findingsOf(baseUrlChecks, await through(proxy)))).toEqual([])
    const outside = await probeOutside(baseUrl, { fetch: fetchThrough(proxy) })
    expect(failed(findingsOf(outsideChecks, outside))).toEqual([name])
  })
})
