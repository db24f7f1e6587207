import { findingsOf } from '@drawbridge/shared/terminal/check.ts'
import { jwtVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import { appSecret, appSettings, sessionUrl } from '../../../tests/support/server/app-fixture.ts'
import { appUrl } from '../../../tests/support/server/drawbridge-fixture.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { createConfig } from '../../../tests/support/server/config-sample.ts'
import { appChecks, probeApp, signInPageChecks } from './app-check.ts'
import { probe } from './probe.ts'

const url = `${appUrl}/connect`

async function pageFindings(answer: () => Response | undefined): Promise<Record<string, string>> {
  const fetch = async (): Promise<Response> => {
    const response = answer()
    if (response) return response
    throw new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })
  }
  const found = findingsOf(signInPageChecks, { url, answer: await probe(url, { fetch }) })
  return Object.fromEntries(found.map(({ name, state }) => [name, state]))
}

const page = (headers: Record<string, string>, status = 200) => new Response('', { status, headers })

describe('doctor looks at SIGN_IN_URL', () => {
  it.each<[what: string, answer: () => Response | undefined, states: Record<string, string>]>([
    [
      'a redirect without headers',
      () => page({ location: '/login' }, 302),
      { 'sign-in-page': 'ok', framing: 'note' },
    ],
    ['no answer', () => undefined, { 'sign-in-page': 'fail' }],
    ['404', () => page({ 'x-frame-options': 'DENY' }, 404), { 'sign-in-page': 'fail', framing: 'ok' }],
    ['500', () => page({ 'x-frame-options': 'DENY' }, 500), { 'sign-in-page': 'fail', framing: 'ok' }],
    ['401', () => page({ 'x-frame-options': 'DENY' }, 401), { 'sign-in-page': 'ok', framing: 'ok' }],
    [
      'a redirect',
      () => page({ location: '/login', 'x-frame-options': 'DENY' }, 307),
      { 'sign-in-page': 'ok', framing: 'ok' },
    ],
  ])('%s is judged for the page and its framing', async (_what, answer, states) => {
    expect(await pageFindings(answer)).toEqual(states)
  })

  it.each<[headers: Record<string, string>, state: string]>([
    [{}, 'warn'],
    [{ 'x-frame-options': 'DENY' }, 'ok'],
    [{ 'x-frame-options': 'sameorigin' }, 'ok'],
    [{ 'x-frame-options': 'ALLOW-FROM https://x.example' }, 'warn'],
    [{ 'content-security-policy': "frame-ancestors 'none'" }, 'ok'],
    [
      {
        'content-security-policy': "default-src 'self'; frame-ancestors 'self' https://x.example; img-src *",
      },
      'ok',
    ],
    [{ 'content-security-policy': "default-src 'none'" }, 'warn'],
    [{ 'content-security-policy': 'frame-ancestors *' }, 'warn'],
    [{ 'content-security-policy': "frame-ancestors 'self' https:" }, 'warn'],
    [{ 'content-security-policy-report-only': "frame-ancestors 'none'" }, 'warn'],
  ])('a page with %j is found: %s', async (headers, state) => {
    expect((await pageFindings(() => page(headers)))['framing']).toBe(state)
  })
})

describe('doctor asks SESSION_URL about a user that cannot exist', () => {
  const verifies = async (request: Request, now: number): Promise<boolean> => {
    const [, jwt = ''] = request.headers.get('authorization')?.split(' ') ?? []
    const options = { audience: sessionUrl, currentDate: new Date(now * 1000) }
    return jwtVerify(jwt, new TextEncoder().encode(appSecret), options).then(
      () => true,
      () => false,
    )
  }

  async function findings(known: number, unknown = known, given: object = { sessionUrl }) {
    const runtime = createFakeRuntime()
    const subjects = new Set<string>()
    const fetch = async (request: Request): Promise<Response> => {
      const sub = new URL(request.url).searchParams.get('sub') ?? ''
      subjects.add(sub)
      const status = (await verifies(request, runtime.now())) ? known : unknown
      return status === 200 ? Response.json({ sub }) : new Response(null, { status })
    }
    const config = createConfig({ appUrl, ...appSettings, ...given }, { production: false })
    const found = findingsOf(appChecks, await probeApp(config, { ...runtime, fetch }))
    expect(subjects.size).toBeLessThan(2)
    for (const { message, fix } of found) expect(`${message} ${fix}`).not.toContain(appSecret)
    return found.map(({ state, message }) => [state, message])
  }

  it.each<[known: number, unknown: number, state: string, text: string]>([
    [404, 401, 'ok', 'answers this server'],
    [404, 403, 'ok', 'answers this server'],
    [200, 401, 'ok', 'answers this server'],
    [404, 404, 'warn', 'does not check who asks'],
    [200, 200, 'warn', 'does not check who asks'],
    [401, 401, 'fail', 'SESSION_URL answered 401.'],
    [403, 404, 'fail', 'SESSION_URL answered 403.'],
    [500, 500, 'fail', 'SESSION_URL answered 500.'],
    [302, 302, 'fail', 'SESSION_URL answered 302.'],
  ])('%s to a good signature and %s to another is found: %s', async (known, unknown, state, text) => {
    expect(await findings(known, unknown)).toEqual([[state, expect.stringContaining(text)]])
  })

  it('without SESSION_URL it says what keeps an account and its connections together', async () => {
    expect(await findings(200, 200, {})).toEqual([['note', expect.stringContaining('outlives its account')]])
  })
})
