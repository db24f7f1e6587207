import { describe, expect, it } from 'vitest'
import type { Credential } from '../../credentials/credential.ts'
import {
  type Reply,
  type SeenRequest,
  loginAt,
  openOAuthServer,
} from '../../../tests/support/bridge/oauth/oauth-server.ts'
import { createTestRuntime } from '../../../tests/support/bridge/oauth/oauth-ports.ts'
import { isReachable, visit } from '../../../tests/support/bridge/oauth/scripted-browser.ts'
import { freePort } from '../../../tests/support/server/free-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { beginTrial, signIn } from '../../../tests/support/bridge/oauth/sign-in-trial.ts'

async function isFree(redirectUri: string): Promise<boolean> {
  const { hostname, port } = new URL(redirectUri)
  return !(await isReachable(hostname, Number(port)))
}

/** A program that another thread starts at that moment has a copy of the listening socket until it runs. */
const toBeFree = (redirectUri: string): Promise<void> => expect.poll(() => isFree(redirectUri)).toBe(true)

/** A port that no other program is given as soon as it is free again. */
const ownCallback = async (): Promise<OAuthConfig['callback']> => ({
  host: '127.0.0.1',
  port: await freePort(),
  path: '/oauth/callback',
})

const redirectUriOf = (url: string): string => new URL(url).searchParams.get('redirect_uri') ?? ''

const { server } = await openOAuthServer()

describe('the authorization request', () => {
  it('an authorization request has everything that it needs and nothing else', async () => {
    server.places = { resource: () => ({ scopes_supported: ['mcp'] }) }
    const { credential } = await signIn(server.serverUrl)
    const { query } = server.requests('/authorize')[0] ?? {}
    expect(Object.fromEntries(query ?? [])).toEqual({
      response_type: 'code',
      client_id: credential.client.clientId,
      redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/oauth\/callback$/) as string,
      state: expect.stringMatching(/^[\w-]{43}$/) as string,
      code_challenge: expect.stringMatching(/^[\w-]{43}$/) as string,
      code_challenge_method: 'S256',
      scope: 'mcp',
      resource: server.serverUrl,
    })
    const { form, headers } = server.requests('/token')[0] ?? {}
    expect(Object.fromEntries(form ?? [])).toEqual({
      grant_type: 'authorization_code',
      client_id: credential.client.clientId,
      code: expect.stringContaining('-code-') as string,
      code_verifier: expect.stringMatching(/^[\w-]{43}$/) as string,
      redirect_uri: query?.get('redirect_uri'),
      resource: server.serverUrl,
    })
    expect(headers?.authorization).toBeUndefined()
    expect(credential.tokens?.scope).toBe('mcp')
  })

  it('an authorization request has no scope when nothing names one, and no resource without its metadata', async () => {
    server.places = { resourcePaths: [] }
    const { credential } = await signIn(server.serverUrl)
    const { query } = server.requests('/authorize')[0] ?? {}
    expect(query?.has('scope')).toBe(false)
    expect(query?.has('resource')).toBe(false)
    expect(server.requests('/token')[0]?.form.has('resource')).toBe(false)
    expect(credential).toHaveProperty('resource', undefined)
    expect(credential.tokens).toHaveProperty('scope', undefined)
  })

  it('an authorization request goes to the endpoints of 2025-03-26 when there is no metadata at all', async () => {
    server.places = { resourcePaths: [], metadataPaths: [] }
    server.response = { iss: undefined }
    const { credential } = await signIn(server.serverUrl)
    expect(server.paths().slice(-3)).toEqual(['/register', '/authorize', '/token'])
    expect(credential.issuer).toBe(server.origin)
  })

  it('an authorization request keeps the query of the endpoint, and adds the user’s parameters, except those of the protocol', async () => {
    server.metadata = { authorization_endpoint: `${server.origin}/authorize?tenant=a+b` }
    const authorizeParameters = {
      audience: 'api',
      prompt: 'consent',
      state: 'mine',
      redirect_uri: 'https://x',
    }
    await signIn(server.serverUrl, { authorizeParameters })
    const { query } = server.requests('/authorize')[0] ?? {}
    expect(query?.get('tenant')).toBe('a b')
    expect(query?.get('audience')).toBe('api')
    expect(query?.get('prompt')).toBe('consent')
    expect(query?.getAll('state')).not.toContain('mine')
    expect(query?.getAll('redirect_uri')).not.toContain('https://x')
  })

  it('an authorization request has the exact resource, or none when the user wants none', async () => {
    server.places = { resource: (origin) => ({ resource: origin }) }
    await signIn(server.serverUrl)
    await signIn(server.serverUrl, { sendResource: false })
    const [first, second] = server.requests('/authorize')
    expect(first?.query.get('resource')).toBe(server.origin)
    expect(second?.query.has('resource')).toBe(false)
    expect(server.requests('/token').map(({ form }) => form.get('resource'))).toEqual([server.origin, null])
  })

  it.each([
    ['client_secret_basic', `Basic ${Buffer.from('id%3A1:s%2Bcret+%25').toString('base64')}`, null],
    ['client_secret_post', undefined, 's+cret %'],
  ])('a code is redeemed with %s', async (method, authorization, secret) => {
    server.metadata = { token_endpoint_auth_methods_supported: [method] }
    await signIn(server.serverUrl, { staticClient: { clientId: 'id:1', clientSecret: 's+cret %' } })
    const { headers, form } = server.requests('/token')[0] ?? {}
    expect(headers?.authorization).toBe(authorization)
    expect(form?.get('client_secret')).toBe(secret)
    expect(server.requests('/register')).toEqual([])
  })
})

describe('a server that accepts only localhost', () => {
  const onlyLocalhost = (): void =>
    void server.answers.set('/register', ({ text }) =>
      text.includes('http://localhost:')
        ? undefined
        : { status: 400, body: { error: 'invalid_redirect_uri', error_description: 'localhost only' } },
    )
  const hostsUsed = (): string[] =>
    server.requests('/authorize').map(({ query }) => new URL(query.get('redirect_uri') ?? '').hostname)

  it('a server that accepts only localhost gets it by itself, and next time at once with the same registration', async () => {
    onlyLocalhost()
    const { credential, prompts } = await signIn(server.serverUrl)
    expect(prompts).toHaveLength(1)
    expect(credential.client.redirectUris).toEqual([expect.stringMatching(/^http:\/\/localhost:\d+\//)])
    expect(server.requests('/register')).toHaveLength(2)
    const again = await signIn(server.serverUrl, {}, { previous: credential, isForced: true })
    expect(again.credential.client.clientId).toBe(credential.client.clientId)
    expect(server.requests('/register')).toHaveLength(2)
    expect(new Set(hostsUsed())).toEqual(new Set(['localhost']))
  })

  it('a server that accepts only localhost ends a sign-in with a callback that the user chose', async () => {
    onlyLocalhost()
    const callback = { ...(await ownCallback()), isFixed: true }
    await expect(signIn(server.serverUrl, { callback })).rejects.toMatchObject({ fault: 'redirect_refused' })
    expect(server.requests('/register')).toHaveLength(1)
  })

  it('a server that refuses localhost too is quoted with its first answer', async () => {
    server.answers.set('/register', ({ text }) => ({
      status: 400,
      body: { error: 'invalid_redirect_uri', error_description: text.includes('127.0.0.1') ? 'one' : 'two' },
    }))
    await expect(signIn(server.serverUrl)).rejects.toThrow(/"one"/)
    expect(server.requests('/register')).toHaveLength(2)
  })

  it('a server that refuses something else is not asked again with another redirect URI', async () => {
    server.answers.set('/register', () => ({ status: 400, body: { error: 'invalid_client_metadata' } }))
    await expect(signIn(server.serverUrl)).rejects.toMatchObject({ fault: 'registration_refused' })
    const asked = server
      .requests('/register')
      .map(({ text }) => JSON.parse(text) as { redirect_uris: string[] })
    expect(new Set(asked.map(({ redirect_uris: uris }) => uris.join())).size).toBe(1)
  })
})

it.each<[resource: string, metadata: string, iss: string, isTaken: boolean]>([
  ['', '/', '', true],
  ['', '/', '/', true],
  ['/', '', '', true],
  ['/', '', '/', true],
  ['/', '/', '', false],
  ['', '/', '/tenant', false],
])(
  'the issuer in the response is one of its spellings in the metadata: resource "%s", server "%s", response "%s": %s',
  async (asked, named, iss, isTaken) => {
    server.places = { resource: (origin) => ({ authorization_servers: [`${origin}${asked}`] }) }
    server.metadata = { issuer: `${server.origin}${named}` }
    server.response = { iss: `${server.origin}${iss}` }
    const signedIn = signIn(server.serverUrl)
    if (isTaken) await signedIn
    else await expect(signedIn).rejects.toMatchObject({ fault: 'issuer_mismatch' })
    expect(server.requests('/token')).toHaveLength(isTaken ? 1 : 0)
  },
)

it('the issuer in the response may be one that the person accepts, which the login remembers', async () => {
  const other = server.origin.replace('127.0.0.1', 'localhost')
  server.metadata = { issuer: other }
  server.response = { iss: other }
  const { credential } = await signIn(server.serverUrl, { acceptIssuer: other })
  expect(credential).toMatchObject({ issuer: other, acceptedAt: server.origin })
})

it.each<[name: string, advertised: boolean | undefined, iss: string | undefined, isTaken: boolean]>([
  ['iss-supported', true, 'ISSUER', true],
  ['iss-not-advertised', undefined, undefined, true],
  ['not sent, said so', false, undefined, true],
  ['sent though not advertised', undefined, 'ISSUER', true],
  ['iss-supported-missing', true, undefined, false],
  ['iss-wrong-issuer', true, 'https://evil.example', false],
  ['iss-unexpected', undefined, 'https://evil.example', false],
  ['iss-normalized', true, 'ISSUER/', false],
  ['empty', undefined, '', false],
])(
  'the response with the issuer %s is accepted or refused before the code is redeemed',
  async (_name, advertised, iss, isTaken) => {
    server.metadata = { authorization_response_iss_parameter_supported: advertised }
    server.response = { iss: iss?.replace('ISSUER', server.issuer) }
    const signedIn = signIn(server.serverUrl)
    if (isTaken) {
      await signedIn
      expect(server.requests('/token')).toHaveLength(1)
    } else {
      await expect(signedIn).rejects.toMatchObject({ fault: 'issuer_mismatch' })
      expect(server.requests('/token')).toEqual([])
    }
  },
)

it('a response of another issuer is not quoted', async () => {
  server.response = {
    iss: 'https://evil.example',
    code: undefined,
    error: 'call-0800-evil',
    error_description: 'Send money',
  }
  const trial = beginTrial(server.serverUrl)
  const arriving = visit((await trial.prompt).url)
  const failure: unknown = await trial.done.catch((error: unknown) => error)
  expect(String(failure)).not.toMatch(/0800|money|evil/)
  expect((await arriving).html).not.toMatch(/0800|money|evil/)
})

it.each([
  ['access_denied', 'access_denied', 200],
  ['invalid_scope', 'scope_refused', 502],
  ['unauthorized_client', 'client_refused', 502],
  ['temporarily_unavailable', 'unavailable', 502],
  ['invalid_target', 'refused', 502],
  ['__proto__', 'refused', 502],
])('the error %s in the response is the fault %s', async (error, fault, status) => {
  server.response = { iss: server.issuer, code: undefined, error, error_description: 'Because\n"so"' }
  const trial = beginTrial(server.serverUrl)
  const arriving = visit((await trial.prompt).url)
  await expect(trial.done).rejects.toMatchObject({ name: 'OAuthFailure', fault })
  await expect(trial.done).rejects.toThrow(String.raw`"Because\n\"so\""`)
  expect((await arriving).status).toBe(status)
  expect(server.requests('/token')).toEqual([])
})

it('a response without a code is a refusal', async () => {
  server.response = { iss: server.issuer, code: undefined }
  await expect(signIn(server.serverUrl)).rejects.toMatchObject({ fault: 'refused' })
})

it('a response that is forged, early or malformed ends nothing', async () => {
  const trial = beginTrial(server.serverUrl)
  const { url } = await trial.prompt
  const callback = redirectUriOf(url)
  for (const query of ['', '?error=access_denied', '?code=1&state=wrong', '?error=x&state=wrong']) {
    expect((await visit(callback + query)).status).toBe(400)
  }
  expect((await visit(url)).status).toBe(200)
  expect((await trial.done).tokens?.accessToken).toMatch(/^remote-secret-at-/)
})

describe('redeeming', () => {
  it('the page shows success only when there are tokens, and neither code nor verifier that a server quotes', async () => {
    server.answers.set('/token', ({ form }) => ({
      status: 400,
      body: {
        error: 'invalid_grant',
        error_description: `${form.get('code')} does not fit ${form.get('code_verifier')}.`,
      },
    }))
    const trial = beginTrial(server.serverUrl)
    const arriving = visit((await trial.prompt).url)
    await expect(trial.done).rejects.toMatchObject({ fault: 'refused' })
    await expect(trial.done).rejects.toThrow('[secret] does not fit [secret].')
    const { status, html } = await arriving
    expect(status).toBe(502)
    expect(html).toContain('The sign-in failed')
  })

  it('redeeming works without the resource that the token endpoint refuses, and remembers that', async () => {
    server.answers.set('/token', ({ form }) =>
      form.has('resource')
        ? { status: 400, body: { error: 'invalid_target', error_description: 'AADSTS9010010: no' } }
        : undefined,
    )
    const { credential } = await signIn(server.serverUrl)
    expect(credential.quirks).toEqual({ refusesResource: true })
    await signIn(server.serverUrl, {}, { previous: credential })
    expect(server.requests('/token').map(({ form }) => form.has('resource'))).toEqual([true, false, false])
  })

  it('redeeming requires an ID token if one is to be sent', async () => {
    await expect(signIn(server.serverUrl, { useIdToken: true })).rejects.toThrow(/no ID token/)
    expect(server.requests('/authorize')[0]?.query.get('scope')).toBe('openid')
    server.tokens = { id_token: 'a.b.c' }
    const { credential } = await signIn(server.serverUrl, { useIdToken: true })
    expect(credential.tokens?.idToken).toBe('a.b.c')
  })
})

describe('an earlier registration', () => {
  const redirectUris = ['http://127.0.0.1:48123/oauth/callback']
  const old = (): Credential => {
    const tokens = { accessToken: 'a', issuedAt: createTestRuntime().now() - 3600 }
    return loginAt(server, { redirectUris }, { tokens })
  }
  /** Forgets every client registered so far. */
  const forget = (status: number): void => {
    server.answers.set('/authorize', ({ query }) =>
      query.get('client_id') === 'before' ? { status, body: '<p>Unrecognized client_id</p>' } : undefined,
    )
  }

  it('an earlier registration is used again, and checked before the user is prompted', async () => {
    const { credential, prompts } = await signIn(server.serverUrl, {}, { previous: old() })
    expect(credential.client.clientId).toBe('before')
    expect(prompts).toHaveLength(1)
    expect(server.requests('/register')).toEqual([])
    expect(server.requests('/authorize')).toHaveLength(2)
    expect(server.requests('/token')).toHaveLength(1)
  })

  it.each([400, 401, 404, 422])(
    'an earlier registration is replaced when the server answers %i, unnoticed by the user',
    async (status) => {
      forget(status)
      const { credential, prompts } = await signIn(server.serverUrl, {}, { previous: old() })
      expect(credential.client.clientId).toMatch(/^client-/)
      expect(prompts).toHaveLength(1)
      expect(server.requests('/register')).toHaveLength(1)
      expect(server.requests('/authorize').map(({ query }) => query.get('client_id'))).toEqual([
        'before',
        credential.client.clientId,
      ])
    },
  )

  it.each([403, 429, 500])(
    'an earlier registration is not replaced when the server answers %i, as gateways do',
    async (status) => {
      let isFirst = true
      server.answers.set('/authorize', () => {
        if (!isFirst) return undefined
        isFirst = false
        return { status, body: '<p>Are you a robot?</p>' }
      })
      const { credential } = await signIn(server.serverUrl, {}, { previous: old() })
      expect(credential.client.clientId).toBe('before')
    },
  )

  it('an earlier registration is not checked when it got tokens a moment ago', async () => {
    const previous = old()
    const tokens = { accessToken: 'a', issuedAt: createTestRuntime().now() - 10, scope: 'read' }
    const request = { previous: { ...previous, tokens }, challengeScope: 'write' }
    await signIn(server.serverUrl, {}, request)
    const [only, ...more] = server.requests('/authorize')
    expect(more).toEqual([])
    expect(only?.query.get('scope')).toBe('write read')
  })

  it('an earlier registration is checked when the refresh was refused, however new the tokens are', async () => {
    forget(400)
    const tokens = { accessToken: 'a', issuedAt: createTestRuntime().now() }
    const previous = { ...old(), tokens, signInNeeded: 'invalid_grant' }
    const { credential } = await signIn(server.serverUrl, {}, { previous })
    expect(credential.client.clientId).toMatch(/^client-/)
  })

  it('an earlier registration is not used at another issuer', async () => {
    const previous = { ...old(), issuer: 'https://as1.example', quirks: { refusesResource: true } }
    const { credential } = await signIn(server.serverUrl, {}, { previous })
    const sent = server.seen.map(({ text, query }) => `${text} ${query.toString()}`).join('\n')
    expect(sent).not.toContain('before')
    expect(credential.client.clientId).toMatch(/^client-/)
    expect(server.requests('/token')[0]?.form.get('resource')).toBe(server.serverUrl)
  })

  it('an earlier registration is used with the earlier port if that is free', async () => {
    const redirectUri = `http://127.0.0.1:${await freePort()}/oauth/callback`
    const { client } = old()
    await signIn(
      server.serverUrl,
      {},
      { previous: { ...old(), client: { ...client, redirectUris: [redirectUri] } } },
    )
    expect(server.requests('/authorize').at(-1)?.query.get('redirect_uri')).toBe(redirectUri)
  })
})

describe('a client that the server refuses', () => {
  const documentUrl = 'https://client.example/drawbridge.json'
  const takesDocuments = { client_id_metadata_document_supported: true }
  const isDocument = ({ query }: SeenRequest): boolean => query.get('client_id') === documentUrl

  const sendBack = ({ query }: SeenRequest, error: string): Reply => {
    const back = new URL(query.get('redirect_uri') ?? '')
    back.search = new URLSearchParams({
      error,
      state: query.get('state') ?? '',
      iss: server.issuer,
    }).toString()
    return { status: 302, headers: { location: back.href } }
  }

  const idsAt = (path: string): (string | null)[] =>
    server.requests(path).map(({ query, form }) => query.get('client_id') ?? form.get('client_id'))

  it.each<[how: string, reply: (request: SeenRequest) => Reply]>([
    ['with 400', () => ({ status: 400, body: '<p>Unknown client</p>' })],
    ['with 403', () => ({ status: 403, body: '<p>Not allowed</p>' })],
    ['by the browser', (request) => sendBack(request, 'unauthorized_client')],
  ])(
    'a client document that is refused %s is replaced by a registration, unnoticed by the user',
    async (_how, reply) => {
      server.metadata = takesDocuments
      server.answers.set('/authorize', (request) => (isDocument(request) ? reply(request) : undefined))
      const { credential, prompts } = await signIn(server.serverUrl, { clientMetadataUrl: documentUrl })
      expect(prompts).toHaveLength(1)
      expect(prompts[0]?.url).toContain(`client_id=${credential.client.clientId}`)
      expect(credential).toMatchObject({
        client: { origin: 'dynamic' },
        quirks: { refusesDocument: documentUrl },
      })
      expect(server.requests('/register')).toHaveLength(1)
    },
  )

  it.each(['invalid_client', 'unauthorized_client'])(
    'a client document refused with %s once the user is there is replaced, and their browser is sent on by the same link',
    async (error) => {
      server.metadata = takesDocuments
      let looks = 0
      server.answers.set('/authorize', (request) => {
        if (!isDocument(request)) return undefined
        looks += 1
        // The first look is the bridge's own.
        return looks === 1 ? { body: '<p>Sign in</p>' } : sendBack(request, error)
      })
      const { credential, arrival, prompts } = await signIn(server.serverUrl, {
        clientMetadataUrl: documentUrl,
      })
      expect(prompts).toHaveLength(1)
      expect(arrival.html).toContain('You are signed in')
      const { clientId } = credential.client
      expect(idsAt('/authorize')).toEqual([documentUrl, documentUrl, clientId])
      expect(idsAt('/token')).toEqual([clientId])
      expect(credential.quirks).toEqual({ refusesDocument: documentUrl })
      const [, first, second] = server.requests('/authorize').map(({ query }) => query)
      for (const name of ['state', 'code_challenge']) expect(first?.get(name)).not.toBe(second?.get(name))
    },
  )

  it('a client document refused at the token endpoint is replaced by a registration', async () => {
    server.metadata = takesDocuments
    server.answers.set('/token', ({ form }) =>
      form.get('client_id') === documentUrl ? { status: 401, body: { error: 'invalid_client' } } : undefined,
    )
    const { credential, arrival, prompts } = await signIn(server.serverUrl, {
      clientMetadataUrl: documentUrl,
    })
    expect(prompts).toHaveLength(1)
    expect(arrival.html).toContain('You are signed in')
    expect(idsAt('/token')).toEqual([documentUrl, credential.client.clientId])
  })

  it('a registration that got tokens a moment ago, and is forgotten since, is replaced', async () => {
    const { credential: previous } = await signIn(server.serverUrl)
    const isOld = ({ query }: SeenRequest): boolean => query.get('client_id') === previous.client.clientId
    server.seen.length = 0
    server.answers.set('/authorize', (request) =>
      isOld(request) ? sendBack(request, 'invalid_client') : undefined,
    )
    const { credential, arrival, prompts } = await signIn(server.serverUrl, {}, { previous })
    expect(prompts).toHaveLength(1)
    expect(arrival.html).toContain('You are signed in')
    expect(idsAt('/authorize')).toEqual([previous.client.clientId, credential.client.clientId])
  })

  it('a registration is checked first when the user signs in again, however new its tokens are', async () => {
    const { credential: previous } = await signIn(server.serverUrl)
    const { clientId: old } = previous.client
    server.seen.length = 0
    server.answers.set('/authorize', ({ query }) =>
      query.get('client_id') === old ? { status: 400 } : undefined,
    )
    const { credential, prompts } = await signIn(server.serverUrl, {}, { previous, isForced: true })
    expect(prompts[0]?.url).not.toContain(old)
    expect(credential.client.clientId).not.toBe(old)
    expect(credential.quirks).toBeUndefined()
  })

  it('a refused client document without registration is reported to the user, without a check before', async () => {
    server.metadata = { ...takesDocuments, registration_endpoint: undefined }
    server.answers.set('/authorize', (request) => sendBack(request, 'unauthorized_client'))
    const signedIn = signIn(server.serverUrl, { clientMetadataUrl: documentUrl })
    await expect(signedIn).rejects.toMatchObject({ fault: 'client_refused' })
    expect(idsAt('/authorize')).toEqual([documentUrl])
  })

  it('a refused replacement of a refused client is reported, without an endless loop', async () => {
    server.metadata = takesDocuments
    server.answers.set('/token', () => ({ status: 401, body: { error: 'invalid_client' } }))
    const signedIn = signIn(server.serverUrl, { clientMetadataUrl: documentUrl })
    await expect(signedIn).rejects.toMatchObject({ fault: 'client_refused' })
    expect(server.requests('/register')).toHaveLength(1)
    expect(server.requests('/token')).toHaveLength(2)
  })
})

describe('an end in every phase', () => {
  const phases: [name: string, path: string][] = [
    ['looking for the resource', '/.well-known/oauth-protected-resource/mcp'],
    ['looking for the server', '/.well-known/oauth-authorization-server'],
    ['registering', '/register'],
    ['redeeming', '/token'],
  ]

  it.each(phases)('a sign-in cancelled while %s frees its port', async (_name, path) => {
    const trial = beginTrial(server.serverUrl, { callback: await ownCallback() })
    server.answers.set(path, () => {
      trial.cancel()
      // Never responds.
      return new Promise(() => undefined)
    })
    void trial.prompt.then(({ url }) => visit(url).catch(() => undefined))
    await expect(trial.done).rejects.toMatchObject({ name: 'OAuthFailure', fault: 'cancelled' })
    const registered = server.requests('/register')[0]
    if (registered === undefined) return
    const { redirect_uris: uris } = JSON.parse(registered.text) as { redirect_uris: string[] }
    await toBeFree(uris[0] ?? '')
  })

  it('a sign-in cancelled while the user is away frees its port', async () => {
    const trial = beginTrial(server.serverUrl, { callback: await ownCallback() })
    const { url } = await trial.prompt
    expect(await isFree(redirectUriOf(url))).toBe(false)
    trial.cancel()
    await expect(trial.done).rejects.toMatchObject({ fault: 'cancelled' })
    await toBeFree(redirectUriOf(url))
  })

  it('a sign-in cancelled before it begins prompts nothing', async () => {
    const trial = beginTrial(server.serverUrl)
    trial.cancel()
    await expect(trial.done).rejects.toMatchObject({ fault: 'cancelled' })
    expect(trial.prompts).toEqual([])
  })

  it('a sign-in whose user does not come back in time frees its port', async () => {
    const trial = beginTrial(server.serverUrl, { signInTimeoutMs: 50, callback: await ownCallback() })
    const { url } = await trial.prompt
    await expect(trial.done).rejects.toMatchObject({ fault: 'timeout' })
    await toBeFree(redirectUriOf(url))
  })

  it('a sign-in that succeeded frees its port', async () => {
    await signIn(server.serverUrl, { callback: await ownCallback() })
    await toBeFree(server.requests('/authorize')[0]?.query.get('redirect_uri') ?? '')
  })

  it('a sign-in at a port in use fails before anything is registered', async () => {
    const first = beginTrial(server.serverUrl)
    const port = Number(new URL(redirectUriOf((await first.prompt).url)).port)
    const callback = { host: '127.0.0.1', port, path: '/oauth/callback' }
    const second = beginTrial(server.serverUrl, { callback })
    await expect(second.done).rejects.toMatchObject({ fault: 'no_callback_port' })
    expect(server.requests('/register')).toHaveLength(1)
    await visit((await first.prompt).url)
    await first.done
  })
})
