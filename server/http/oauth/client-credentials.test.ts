import { encodeBase64url, encodeUtf8 } from '@drawbridge/shared/base64url.ts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { publicClient } from '../../../tests/support/server/core/sign-in-sample.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { type Client, ClientUnavailableError } from '../../core/clients/client.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { readClient, readClientCredentials } from './client-credentials.ts'

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`

const jwtOf = (sub: unknown): string =>
  ['{"alg":"ES256"}', JSON.stringify({ sub }), ''].map((part) => encodeBase64url(encodeUtf8(part))).join('.')

const url = 'https://c.example/c'
const asserting = { client_assertion: jwtOf('a'), client_assertion_type: assertionType }
const unproven = { id: 'a', proof: { kind: 'none' } }
const bySecret = (secret: string, id = 'a') => ({ id, proof: { kind: 'secret', secret } })
const byAssertion = { id: 'a', proof: { kind: 'assertion', assertion: jwtOf('a') } }

function credentials(header: string | null, form: Record<string, string>) {
  return readClientCredentials(header, new URLSearchParams(form))
}

function code(header: string | null, form: Record<string, string>): unknown {
  try {
    credentials(header, form)
    return 'accepted'
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

describe('readClientCredentials (RFC 6749 section 2.3.1, RFC 7521 section 4.2)', () => {
  it.each<[rule: string, header: string | null, form: Record<string, string>, expected: unknown]>([
    ['a public client', null, { client_id: 'a' }, unproven],
    ['an empty secret is none', null, { client_id: 'a', client_secret: '' }, unproven],
    ['a secret in the form', null, { client_id: 'a', client_secret: 's' }, bySecret('s')],
    ['a secret by header', basic('a', 's'), {}, bySecret('s')],
    ['the same id in both', basic('a', 's'), { client_id: 'a' }, bySecret('s')],
    ['a header without a secret', basic('a', ''), {}, unproven],
    ['the scheme in any letter case', basic('a', 's').replace('Basic', 'bAsIc'), {}, bySecret('s')],
    ['RFC 6749 2.3.1: a document URL, form-encoded', basic(url, 's'), {}, bySecret('s', url)],
    ['a secret with a colon that was not encoded', `Basic ${btoa('a:b:c')}`, {}, bySecret('b:c')],
    ['a plus is a blank', `Basic ${btoa('a:b+c')}`, {}, bySecret('b c')],
    ['a per cent sign that encodes nothing stays', `Basic ${btoa('a:100%')}`, {}, bySecret('100%')],
    ['an assertion without client_id', null, asserting, byAssertion],
    ['an assertion with the same client_id', null, { client_id: 'a', ...asserting }, byAssertion],
  ])('readClientCredentials reads %s', (_rule, header, form, expected) => {
    expect(credentials(header, form)).toEqual(expected)
  })

  it.each<[rule: string, header: string | null, form: Record<string, string>]>([
    ['header and secret', basic('a', 's'), { client_secret: 's' }],
    ['header and assertion', basic('a', 's'), asserting],
    ['secret and assertion', null, { client_secret: 's', ...asserting }],
    [
      'secret and the type of an assertion',
      null,
      { client_secret: 's', client_assertion_type: assertionType },
    ],
    ['another id in the form than in the header', basic('a', 's'), { client_id: 'b' }],
    ['RFC 7521 4.2: another id in the form than in the assertion', null, { client_id: 'b', ...asserting }],
    ['an assertion without its type', null, { client_id: 'a', client_assertion: jwtOf('a') }],
    ['a type without its assertion', null, { client_id: 'a', client_assertion_type: assertionType }],
  ])('RFC 7521 4.2: MUST NOT use more than one method: invalid_request for %s', (_rule, header, form) => {
    expect(code(header, form)).toBe('invalid_request')
  })

  it.each<[rule: string, header: string | null, form: Record<string, string>]>([
    ['nothing', null, {}],
    ['an empty client_id', null, { client_id: '' }],
    ['a secret without an id', null, { client_secret: 's' }],
    ['another scheme', 'Bearer abc', { client_id: 'a' }],
    ['an empty header', '', { client_id: 'a' }],
    ['a header without a value', 'Basic', { client_id: 'a' }],
    ['a header that is no base64', 'Basic §', { client_id: 'a' }],
    ['RFC 7617 2: a header without a colon', `Basic ${btoa('a')}`, {}],
    ['a header without an id', `Basic ${btoa(':s')}`, {}],
    ['a header that is no UTF-8', `Basic ${Buffer.from([0xff, 0x3a, 0x61]).toString('base64')}`, {}],
    ['two headers', `${basic('a', 's')}, ${basic('a', 's')}`, {}],
    [
      'RFC 7521 4.2: an assertion of another type',
      null,
      { ...asserting, client_assertion_type: 'saml2-bearer' },
    ],
    ['an assertion that is no JWT', null, { ...asserting, client_assertion: 'x' }],
    [
      'an assertion without sub, whatever client_id says',
      null,
      { ...asserting, client_id: 'a', client_assertion: jwtOf(undefined) },
    ],
  ])('readClientCredentials answers invalid_client for %s', (_rule, header, form) => {
    expect(code(header, form)).toBe('invalid_client')
  })

  it('OAuth 2.1 2.4.1: property: readClientCredentials reads every id and secret as the client encoded it', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, unit: 'grapheme' }),
        fc.string({ minLength: 1, unit: 'grapheme' }),
        (id, secret) => {
          const read = credentials(basic(id, secret), {})
          expect(read).toEqual({ id, proof: { kind: 'secret', secret } })
        },
      ),
    )
  })
})

function read(
  form: Record<string, string>,
  findClient: (id: string) => Promise<Client | undefined>,
): Promise<Client> {
  const request = new Request('https://mcp.example.com/oauth/token', { method: 'POST' })
  return readClient(request, new URLSearchParams(form), {
    clients: { findClient },
    store: openMemoryStore(),
    runtime: createFakeRuntime(start),
    issuer: 'https://mcp.example.com',
    tokenEndpoint: 'https://mcp.example.com/oauth/token',
    fetchKeys: () => Promise.reject(new ClientUnavailableError('The keys are out of reach.')),
  })
}

describe('readClient', () => {
  it('readClient looks a client up as connected, so that an outage at its host signs nobody out', async () => {
    const purposes: unknown[] = []
    await read({ client_id: 'mcpc_public' }, async (...given: unknown[]) => {
      purposes.push(given)
      return publicClient()
    })
    expect(purposes).toEqual([['mcpc_public', 'connected']])
  })

  it('readClient answers invalid_client if the host says that there is no such document', async () => {
    const permanent = new ClientUnavailableError('Faulty.', 'no_client')
    await expect(read({ client_id: url }, () => Promise.reject(permanent))).rejects.toMatchObject({
      code: 'invalid_client',
      status: 401,
    })
  })

  it('readClient passes any other error on', async () => {
    const failure = new Error('down')
    await expect(read({ client_id: 'a' }, () => Promise.reject(failure))).rejects.toBe(failure)
  })
})
