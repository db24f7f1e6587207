import { describe, expect, it } from 'vitest'
import type { Credential } from '../../credentials/credential.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { createTestRuntime, type TestRuntime } from '../../../tests/support/bridge/oauth/oauth-ports.ts'
import { loginAt, type Reply, openOAuthServer } from '../../../tests/support/bridge/oauth/oauth-server.ts'
import { beginTrial, type SignInTrial } from '../../../tests/support/bridge/oauth/sign-in-trial.ts'

const { server } = await openOAuthServer()

const startedAt = (origin: string): object => ({
  device_code: 'd3vice',
  user_code: 'ABCD-EFGH',
  verification_uri: `${origin}/enter`,
  verification_uri_complete: `${origin}/enter?code=ABCD-EFGH`,
  expires_in: 600,
  interval: 5,
})

/** Answers polls with `polls` in turn, then with tokens. `device` overrides the device authorization response. */
function serve(polls: Reply[] = [], device: object = {}): void {
  server.metadata = { device_authorization_endpoint: `${server.origin}/device` }
  server.answers.set('/device', () => ({ body: { ...startedAt(server.origin), ...device } }))
  server.answers.set('/token', () => polls.shift())
}

const error = (code: string, status = 400): Reply => ({ status, body: { error: code } })
const pending = error('authorization_pending')

function begin(
  options: { changes?: Partial<OAuthConfig>; previous?: Credential; runtime?: TestRuntime } = {},
): SignInTrial {
  const { changes, previous, runtime } = options
  const request = previous === undefined ? {} : { previous }
  return beginTrial(server.serverUrl, { grant: 'device_code', ...changes }, request, runtime)
}

it('a device grant shows the code, and polls until the tokens arrive', async () => {
  const runtime = createTestRuntime()
  serve([pending, pending])
  const trial = begin({ runtime })
  expect(await trial.prompt).toMatchObject({
    kind: 'device',
    url: `${server.origin}/enter`,
    completeUrl: `${server.origin}/enter?code=ABCD-EFGH`,
    userCode: 'ABCD-EFGH',
    askedBy: new URL(server.origin).host,
  })
  const credential = await trial.done
  expect(runtime.slept).toEqual([5000, 5000, 5000])
  expect(credential.tokens?.accessToken).toMatch(/^remote-secret-at-/)
  const { clientId } = credential.client
  expect(Object.fromEntries(server.requests('/device')[0]?.form ?? [])).toEqual({
    client_id: clientId,
    resource: server.serverUrl,
  })
  expect(Object.fromEntries(server.requests('/token')[0]?.form ?? [])).toEqual({
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: 'd3vice',
    client_id: clientId,
    resource: server.serverUrl,
  })
  expect(server.requests('/authorize')).toEqual([])
})

it('a device grant polls more slowly on request, and after lost requests', async () => {
  const runtime = createTestRuntime()
  const later: Reply = { status: 429, headers: { 'retry-after': '30' } }
  serve([error('slow_down'), pending, { status: 502, body: 'bad gateway' }, later])
  await begin({ runtime }).done
  expect(runtime.slept).toEqual([5000, 10_000, 10_000, 15_000, 30_000])
})

it.each<[error: string, fault: string]>([
  ['access_denied', 'access_denied'],
  ['expired_token', 'expired'],
  ['invalid_grant', 'refused'],
  ['invalid_client', 'client_refused'],
])('a device grant ends with %s', async (code, fault) => {
  serve([pending, error(code)])
  await expect(begin().done).rejects.toMatchObject({ name: 'OAuthFailure', fault })
})

it('a device grant ends when its code expires', async () => {
  serve(Array<Reply>(100).fill(pending), { expires_in: 12 })
  await expect(begin().done).rejects.toMatchObject({ fault: 'expired' })
  expect(server.requests('/token').length).toBeLessThanOrEqual(2)
})

it('a device grant ends when the user gives up', async () => {
  serve(Array<Reply>(100_000).fill(pending), { expires_in: 86_000 })
  const trial = begin()
  await trial.prompt
  trial.cancel()
  await expect(trial.done).rejects.toMatchObject({ fault: 'cancelled' })
})

it('a device grant survives a server that is down for a while', async () => {
  const runtime = createTestRuntime()
  serve([{ isCut: true }, pending])
  await begin({ runtime }).done
  expect(server.requests('/token')).toHaveLength(3)
})

describe('the device authorization request', () => {
  it.each<[name: string, device: object, fault: string]>([
    ['no code', { device_code: undefined }, 'refused'],
    ['no place', { verification_uri: undefined }, 'refused'],
    ['an address that is not a web page', { verification_uri: 'file:///etc/passwd' }, 'bad_metadata'],
    ['a place in plain text', { verification_uri: 'http://as.example/' }, 'bad_metadata'],
    ['a code that moves the cursor', { user_code: '\u001B[2J' }, 'bad_metadata'],
    ['an error', { device_code: undefined, error: 'unauthorized_client' }, 'client_refused'],
  ])('a device authorization response with %s is rejected', async (_name, device, fault) => {
    serve([], device)
    const trial = begin()
    await expect(trial.done).rejects.toMatchObject({ fault })
    expect(trial.prompts).toEqual([])
  })

  it('a refused device authorization shows no secret', async () => {
    serve()
    server.answers.set('/device', ({ text }) => ({
      status: 400,
      body: { error: 'invalid_request', error_description: `Bad form: ${text}` },
    }))
    const staticClient = {
      clientId: 'id',
      clientSecret: 'top s3cret',
      tokenEndpointAuthMethod: 'client_secret_post',
    }
    const failure = await begin({ changes: { staticClient } }).done.catch(String)
    expect(failure).toContain('client_secret=[secret]')
    expect(failure).not.toContain('s3cret')
  })

  it('a device authorization response may have old names, and times as text or none', async () => {
    const runtime = createTestRuntime()
    const device = {
      verification_uri: undefined,
      interval: '7',
      expires_in: undefined,
      verification_uri_complete: 'data:,',
    }
    serve([], device)
    server.answers.set('/device', () => ({
      body: { ...startedAt(server.origin), ...device, verification_url: `${server.origin}/d` },
    }))
    const trial = begin({ runtime })
    const before = runtime.now()
    const prompt = await trial.prompt
    expect(prompt).toMatchObject({ url: `${server.origin}/d` })
    expect(prompt).toHaveProperty('completeUrl', undefined)
    expect(prompt.kind === 'device' && prompt.expiresAt - before).toBeGreaterThanOrEqual(599)
    await trial.done
    expect(runtime.slept).toEqual([7000])
  })

  it('the device grant needs a device authorization endpoint', async () => {
    serve()
    server.metadata = {}
    await expect(begin().done).rejects.toThrow(/The device_authorization_endpoint of .* is missing/)
  })

  it('the device grant needs no PKCE', async () => {
    serve()
    server.metadata = { ...server.metadata, code_challenge_methods_supported: undefined }
    await begin().done
  })

  it('a device client is registered again if the server has forgotten it', async () => {
    serve()
    server.answers.set('/device', ({ form }) =>
      form.get('client_id') === 'before' ? error('invalid_client', 401) : { body: startedAt(server.origin) },
    )
    const trial = begin({ previous: loginAt(server) })
    expect((await trial.done).client.clientId).toMatch(/^client-/)
    expect(trial.prompts).toHaveLength(1)
    expect(server.requests('/device')).toHaveLength(2)
  })
})
