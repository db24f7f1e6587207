import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { matchRedirectUri } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { expect } from 'vitest'
import { parseAuthorizationRequest } from '../../server/core/authorization/authorization-request.ts'
import { isDocumentUrl, readClientDocument } from '../../server/core/clients/client-id-metadata-document.ts'
import { readClientMetadata } from '../../server/core/clients/client-metadata.ts'
import { registerClient } from '../../server/core/clients/client-registration.ts'
import type { Client } from '../../server/core/clients/client.ts'
import { isOurResource } from '../../server/core/tokens/resource.ts'
import { ScopeCatalogue } from '../../server/core/tokens/scope.ts'
import { readForm } from '../../server/http/middleware/body.ts'
import { readClientCredentials } from '../../server/http/oauth/client-credentials.ts'
import { createFakeRuntime } from '../support/server/fake-runtime.ts'
import { start } from '../support/server/core/grant-sample.ts'
import { fuzz, it } from './fuzz.ts'
import { damaged, hostileHeader, hostileText } from './hostile-text.ts'

const resource = 'https://mcp.example.com/mcp'
const policy = { privateUseRedirectUris: [], allowLoopback: false, scope: 'mcp' }
const metadata = {
  client_name: 'Client',
  redirect_uris: ['http://127.0.0.1/callback', 'https://client.example/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
  scope: 'mcp',
  client_uri: 'https://client.example',
}
const runtime = createFakeRuntime(start)
const managementUrl = (id: string): string => `https://mcp.example.com/oauth/register/${id}`
const { client } = registerClient(metadata, policy, runtime, managementUrl)
const clients = {
  findClient: async (id: string): Promise<Client | undefined> => (id === client.id ? client : undefined),
}

/** Runs work that may fail only with an OAuth error. */
function orRefused<Result>(work: () => Result): Result | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof OAuthError) return undefined
    throw error
  }
}

const good: Readonly<Record<string, string>> = {
  response_type: 'code',
  client_id: client.id,
  redirect_uri: 'http://127.0.0.1:4711/callback',
  state: 'state',
  scope: 'mcp offline_access',
  resource,
  code_challenge: 'E9Melhoa2OwvFrEMTJGuCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
}

it('authorization parameters: only a registered address is redirected to (RFC 6749 section 4.1.2.1)', async () => {
  const scopes = new ScopeCatalogue()
  const names = [
    ...Object.keys(good),
    'request',
    'request_uri',
    'prompt',
    'response_mode',
    'login_hint',
    '__proto__',
  ]
  const fragments = [...names, ...Object.values(good), 'none', 'form_post', 'token', 'plain']
  let accepted = 0
  await fuzz({
    make(chance) {
      const pairs = Object.entries(good)
      for (let changes = chance.below(4); changes > 0; changes -= 1) {
        const at = chance.below(pairs.length)
        const pair: [string, string] = [chance.pick(names), hostileText(chance, fragments)]
        if (chance.once(3)) pairs.push(pair)
        else pairs[at] = chance.once(2) ? [pairs[at]?.[0] ?? '', pair[1]] : pair
      }
      return new URLSearchParams(pairs)
    },
    async work(parameters) {
      const result = await parseAuthorizationRequest(parameters, { clients, resource, scopes })
      if (result.kind === 'unsafe') return
      const redirectUri = result.kind === 'accepted' ? result.request.redirectUri : result.redirectUri
      if (!matchRedirectUri(client.redirectUris, redirectUri)) throw new Error('This redirects to anywhere.')
      if (result.kind === 'refused') {
        if (!/^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(result.description))
          throw new Error('This may not be sent.')
        return
      }
      accepted += 1
      if (!/^[\w-]{43}$/.test(result.request.codeChallenge)) throw new Error('This is not a challenge.')
      if (result.request.resource !== resource) throw new Error('This is another resource.')
    },
  })
  expect(accepted).toBeGreaterThan(1000)
})

const tokenFragments = [
  'grant_type=',
  'authorization_code',
  'refresh_token',
  'urn:ietf:params:oauth:grant-type:device_code',
  '&code=',
  '&client_id=',
  '&client_secret=',
  '&client_assertion=eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.AA',
  '&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer',
  '&resource=https%3A%2F%2Fmcp.example.com%2Fmcp',
  '&refresh_token=mcpr_',
  '&',
  '=',
]

it('token bodies end as parameters or as an OAuth error (RFC 6749 section 5.2)', () =>
  fuzz({
    make: (chance) => hostileText(chance, tokenFragments),
    async work(body) {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const request = new Request('http://localhost/oauth/token', { method: 'POST', body, headers })
      const form = await readForm(request).catch((error: unknown) => {
        if (error instanceof OAuthError) return undefined
        throw error
      })
      if (form) orRefused(() => readClientCredentials(null, form))
    },
  }))

it('Basic headers: a parsed client has an id (RFC 7617 section 2)', async () => {
  const form = new URLSearchParams()
  let read = 0
  await fuzz({
    make(chance) {
      if (chance.once(2)) return hostileHeader(chance, ['Basic ', 'basic', 'YTpi', 'Bearer ', '==', '='])
      const text = hostileText(chance, ['client', ':', 'secret', '%3A', '+', '%'])
      return `Basic ${Buffer.from(text).toString('base64')}`
    },
    work(header) {
      const credentials = orRefused(() => readClientCredentials(header, form))
      if (credentials?.id === '') throw new Error('The client id is empty.')
      if (credentials) read += 1
    },
  })
  expect(read).toBeGreaterThan(1000)
})

const uris = [
  'https://',
  'http://',
  'client.example',
  '127.0.0.1',
  'localhost',
  '[::1]',
  ':443',
  '/callback',
  'javascript:',
  'data:',
  'cursor://',
  '@',
  '*',
  '#',
  ' ',
  '\\',
]

/** Addresses that codes may be sent to: https, and http on this computer. */
const safeUri = /^https:\/\/[^/@\\]+(?:[/?]|$)|^http:\/\/(?:localhost|127(?:\.\d+){3}|\[::1\])(?:[:/?]|$)/i

it('registrations: codes are never sent to an unsafe address (RFC 7591 section 5)', async () => {
  let registered = 0
  await fuzz({
    make: (chance) =>
      damaged(chance, metadata, [...uris, 'none', 'private_key_jwt', 'code', 'refresh_token']),
    work(given) {
      const made = orRefused(() => registerClient(given, policy, runtime, managementUrl))
      for (const uri of made?.client.redirectUris ?? []) {
        if (!safeUri.test(uri)) throw new Error(`${uri} is registered.`)
      }
      if (made) registered += 1
    },
  })
  expect(registered).toBeGreaterThan(1000)
})

it('client id metadata documents: none speaks for another URL (section 4)', async () => {
  const url = 'https://client.example/oauth/client.json'
  let read = 0
  await fuzz({
    make: (chance) =>
      damaged(chance, { client_id: url, ...metadata }, [...uris, url, 'none', 'client_secret_basic']),
    work(given) {
      const reading = readClientDocument(url, given, policy)
      if (reading.kind === 'invalid') {
        if (reading.reason === '') throw new Error('There is no reason.')
        return
      }
      read += 1
      if (reading.client.id !== url) throw new Error('This is another client.')
      for (const uri of reading.client.redirectUris)
        if (!safeUri.test(uri)) throw new Error(`${uri} is taken.`)
    },
  })
  expect(read).toBeGreaterThan(1000)
})

it('URLs: as the id of a client, as a resource, as a redirect URI', () =>
  fuzz({
    make: (chance) =>
      hostileText(chance, [...uris, resource, 'mcp.example.com', '/mcp', '%2e%2e', ':0', ':99999']),
    work(given) {
      if (isDocumentUrl(given, false) && new URL(given).protocol !== 'https:') throw new Error('Only https.')
      if (isOurResource(given, resource) && new URL(given).host !== 'mcp.example.com')
        throw new Error('Not ours.')
      const described = orRefused(() => readClientMetadata({ ...metadata, redirect_uris: [given] }, policy))
      if (described && !safeUri.test(given)) throw new Error('Unsafe.')
      matchRedirectUri(client.redirectUris, given)
    },
  }))
