import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import { anonymousCaller, type SignedInCaller } from '../../core/tokens/caller.ts'
import {
  assertionsSample,
  callerSample,
  providerKey,
  providerOrigin,
  toolContextSample,
} from '../../../tests/support/server/mcp/tool-fixture.ts'
import { createToolContexts } from './tool-context.ts'

/** The request that `context.fetch` makes. */
async function sent(input: string, init?: RequestInit): Promise<Request> {
  const seen: Request[] = []
  const context = toolContextSample(async (request) => {
    seen.push(request)
    return new Response()
  })
  await context.fetch(input, init)
  const [request] = seen
  if (!request) throw new Error('Nothing was sent.')
  return request
}

describe('the token of the user', () => {
  it.each([`${providerOrigin}:443/`, '/rest/v1/notes', 'a', '', '/a//b', String.raw`/a\b`])(
    'the token of the user goes to %s, the session provider, with the API key',
    async (input) => {
      const { headers, url } = await sent(input)
      expect(new URL(url).origin).toBe(providerOrigin)
      expect(headers.get('authorization')).toBe('Bearer provider-token')
      expect(headers.get('apikey')).toBe(providerKey)
    },
  )

  it.each([
    'https://elsewhere.example/',
    'http://ref.provider.example/',
    'https://ref.provider.example:8443/',
    'https://sub.ref.provider.example/',
  ])(
    'MCP security Token-Passthrough: the token of the user does not go to %s, and neither does the API key',
    async (input) => {
      const { headers } = await sent(input)
      expect([headers.get('authorization'), headers.get('apikey')]).toEqual([null, null])
    },
  )

  it.each([
    '//elsewhere.example/rest/v1/notes',
    String.raw`/\elsewhere.example/`,
    String.raw`\/elsewhere.example/`,
    '/\t/elsewhere.example/',
    '//user@elsewhere.example',
    '//ref.provider.example:8443/',
  ])('the token of the user and the API key do not go to %j, which only looks like a path', async (input) => {
    await expect(sent(input)).rejects.toThrow('leads to another host')
  })

  it('MCP security Token-Passthrough: a request with the token of the user follows no redirect', async () => {
    expect((await sent('/a')).redirect).toBe('error')
    expect((await sent('/a', { redirect: 'follow' })).redirect).toBe('error')
    expect((await sent('/a', { redirect: 'manual' })).redirect).toBe('manual')
    expect((await sent('https://elsewhere.example/')).redirect).toBe('follow')
  })

  it('the token of the user gives way to one that the tool sends itself', async () => {
    const headers = { Authorization: 'Bearer own', apikey: 'own-key' }
    const request = await sent('/a', { headers })
    expect([request.headers.get('authorization'), request.headers.get('apikey')]).toEqual([
      'Bearer own',
      'own-key',
    ])
  })
})

it.each(['the client', 'the tool', 'the client, before'])('fetch of a tool is ended by %s', async (who) => {
  const client = new AbortController()
  const tool = new AbortController()
  if (who === 'the client, before') client.abort()
  const context = toolContextSample(
    (_request, signal) =>
      new Promise((_resolve, reject) => {
        const end = (): void => reject(new Error('ended'))
        if (signal?.aborted) end()
        signal?.addEventListener('abort', end)
        if (who === 'the client') client.abort()
        if (who === 'the tool') tool.abort()
      }),
    { channel: { signal: client.signal } },
  )
  await expect(context.fetch('/a', { signal: tool.signal })).rejects.toThrow('ended')
})

it('the context of a tool says who calls and passes on messages for the client', () => {
  const heard: unknown[] = []
  const context = toolContextSample(async () => new Response(), {
    channel: {
      progress: (...given) => heard.push(given),
      log: (...given) => heard.push(given),
    },
  })
  context.progress(1, 2, 'half')
  context.log('info', { a: 1 })
  expect(heard).toEqual([
    [1, 2, 'half'],
    ['info', { a: 1 }],
  ])
  const { user, scope, clientId, credential } = context
  expect({ user, scope, clientId, credential, token: context.providerToken() }).toEqual({
    user: callerSample.user,
    scope: 'mcp',
    clientId: 'mcpc_1',
    credential: 'access_token',
    token: 'provider-token',
  })
})

describe('the headers about the client', () => {
  const factsOf = ({ headers }: Request): (string | null)[] =>
    ['client', 'scope', 'workspace'].map((name) => headers.get(`drawbridge-${name}`))
  const sentBy = async (
    caller: Partial<SignedInCaller>,
    input: string,
    init?: RequestInit,
  ): Promise<Request> => {
    const seen: Request[] = []
    const answer = async (request: Request): Promise<Response> => {
      seen.push(request)
      return new Response()
    }
    await toolContextSample(answer, { caller: { ...callerSample, ...caller } }).fetch(input, init)
    const [request] = seen
    if (!request) throw new Error('Nothing was sent.')
    return request
  }
  const workspace = { id: 'team-7', name: 'Team\r\nSet-Cookie: x' }

  it('the app learns the client, its scope and its workspace by id', async () => {
    expect(factsOf(await sentBy({ workspace }, '/a'))).toEqual(['mcpc_1', 'mcp', 'team-7'])
  })

  it('what the caller has not is left out, and a tool cannot say otherwise', async () => {
    const headers = { 'Drawbridge-Client': 'x', 'Drawbridge-Scope': 'admin', 'Drawbridge-Workspace': 'other' }
    const caller = { clientId: undefined, credential: 'provider_token' } as const
    expect(factsOf(await sentBy(caller, '/a', { headers }))).toEqual([null, 'mcp', null])
    const nobody = { ...caller, scope: '' }
    expect(factsOf(await sentBy(nobody, '/a', { headers }))).toEqual([null, null, null])
  })

  it('the list of workspaces is requested as the user, for the client that is to get one', async () => {
    const seen: Request[] = []
    const fetch = async (request: Request): Promise<Response> => {
      seen.push(request)
      return new Response()
    }
    const ports = { runtime: { fetch }, providerOrigin, providerKey, assertions: assertionsSample }
    const { user, scope, providerToken } = callerSample
    await createToolContexts(ports).ofUser({ user, clientId: 'mcpc_1', scope, providerToken }).fetch('/a')
    expect(seen.map(factsOf)).toEqual([['mcpc_1', 'mcp', null]])
    expect(seen[0]?.headers.get('authorization')).toBe('Bearer provider-token')
  })

  it('another origin learns nothing', async () => {
    expect(factsOf(await sentBy({ workspace }, 'https://elsewhere.example/'))).toEqual([null, null, null])
  })
})

it('context.assertion signs the caller with client, scope and workspace, for the named API', async () => {
  const workspace = { id: 'team-7', name: 'Team' }
  const answer = async (): Promise<Response> => new Response()
  const context = toolContextSample(answer, { caller: { ...callerSample, workspace } })
  const jwt = await context.assertion('https://api.example.com')
  const keys = createLocalJWKSet(assertionsSample.keySet())
  const options = {
    audience: 'https://api.example.com',
    currentDate: new Date((decodeJwt(jwt).iat ?? 0) * 1000),
  }
  const { payload, protectedHeader } = await jwtVerify(jwt, keys, options)
  expect(protectedHeader.typ).toBe('drawbridge-assertion+jwt')
  expect(payload).toMatchObject({ sub: 'ada', client_id: 'mcpc_1', scope: 'mcp', workspace: 'team-7' })
  expect(decodeJwt(await context.assertion('https://other.example.com')).aud).toBe(
    'https://other.example.com',
  )
})

it('context.assertion refuses a caller who has not signed in', async () => {
  const caller = anonymousCaller({ kind: 'allowed', scopes: undefined, allowsTool: undefined })
  const context = toolContextSample(async () => new Response(), { caller })
  await expect(context.assertion('https://api.example.com')).rejects.toThrow('not signed in')
})
