import { describe, expect, it } from 'vitest'
import { fakeRuntime, type NotedRuntime } from '../../../../tests/support/sandbox/provider-fixture.ts'
import { createStandInGoogle, type StandInGoogle } from './google.ts'

const URLS = { url: 'http://localhost:8788/google', callbackUrl: 'http://localhost:8788/auth/v1/callback' }

function open(): {
  google: StandInGoogle
  runtime: NotedRuntime
  choose: (fields: Record<string, string>) => Promise<Response>
} {
  const runtime = fakeRuntime()
  const google = createStandInGoogle(URLS, runtime)
  return {
    google,
    runtime,
    choose: async (fields) =>
      google.routes.request('/choose', { method: 'POST', body: new URLSearchParams(fields) }),
  }
}

async function codeOf(
  google: StandInGoogle,
  choose: (fields: Record<string, string>) => Promise<Response>,
): Promise<string> {
  const page = await (await google.routes.request('/authorize?state=s')).text()
  const account = /name="account" value="(\d+)"/.exec(page)?.[1] ?? ''
  const { headers } = await choose({ state: 's', account })
  return new URL(headers.get('location') ?? '').searchParams.get('code') ?? ''
}

describe('the page', () => {
  it('offers its accounts and a way out, and sends the form back to itself', async () => {
    const page = await (await open().google.routes.request('/authorize?state=abc')).text()
    expect(page).toContain('action="http://localhost:8788/google/choose"')
    expect(page).toContain('name="state" value="abc"')
    expect(page).toContain('Continue as Ada Example')
    expect(page).toContain('Continue as Grace Example')
    expect(page).toContain('value="deny"')
    expect(page).toContain('Stand-in Google for development')
  })

  it.each(['https://evil.example/', 'http://localhost:8788/elsewhere'])(
    'returns to the provider, not to a redirect_uri of %s',
    async (redirectUri) => {
      const { choose } = open()
      const response = await choose({ state: 's', account: 'deny', redirect_uri: redirectUri })
      expect(response.status).toBe(303)
      expect(response.headers.get('location')).toBe(`${URLS.callbackUrl}?state=s&error=access_denied`)
    },
  )

  it.each([{}, { account: '' }, { account: 'unknown' }, { account: '__proto__' }])(
    'refuses the choice %j',
    async (fields) => {
      const response = await open().choose({ state: 's', ...fields })
      expect(response.status).toBe(400)
      expect(response.headers.get('location')).toBeNull()
      expect(await response.text()).toContain('No such account')
    },
  )
})

describe('a code of it', () => {
  it('names the person, once', async () => {
    const { google, choose } = open()
    const code = await codeOf(google, choose)
    expect(google.redeem(code)).toEqual({
      subject: '100000000000000000001',
      name: 'Ada Example',
      email: 'ada@google.example',
    })
    expect(google.redeem(code)).toBeUndefined()
  })

  it.each([
    { seconds: 59, good: true },
    { seconds: 60, good: false },
  ])('after $seconds seconds is good: $good', async ({ seconds, good }) => {
    const { google, choose, runtime } = open()
    const code = await codeOf(google, choose)
    runtime.advance(seconds)
    expect(google.redeem(code) !== undefined).toBe(good)
  })

  it('cannot be made up', () => {
    expect(open().google.redeem('')).toBeUndefined()
    expect(open().google.redeem('constructor')).toBeUndefined()
  })
})
