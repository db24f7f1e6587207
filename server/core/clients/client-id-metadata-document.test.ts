import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { freshnessOf, isDocumentUrl, readClientDocument } from './client-id-metadata-document.ts'

const url = 'https://client.example/oauth/client.json'
const policy = { privateUseRedirectUris: [], allowLoopback: false }
const redirect_uris = ['http://127.0.0.1/callback']
const document = { client_id: url, client_name: 'Quill', redirect_uris }
const jwks = { keys: [{ kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'BBBB' }] }

const read = (changes: JsonObject = {}) => readClientDocument(url, { ...document, ...changes }, policy)

describe('isDocumentUrl (OAuth client id metadata document, section 3)', () => {
  it.each([
    url,
    'https://client.example/c?v=1',
    'https://client.example:8443/c',
    'https://xn--bcher-kva.example/c',
    'https://a_b.client.example/c',
  ])('isDocumentUrl accepts %s', (text) => {
    expect(isDocumentUrl(text, false)).toBe(true)
  })

  it.each<[rule: string, text: string]>([
    ['MUST have the https scheme', 'http://client.example/c'],
    ['MUST contain a path', 'https://client.example'],
    ['a path that is only a slash', 'https://client.example/'],
    ['CIMD 3: MUST NOT contain a fragment', `${url}#a`],
    ['an empty fragment', `${url}#`],
    ['MUST NOT contain a user name', 'https://user@client.example/c'],
    ['MUST NOT contain a password', 'https://:pass@client.example/c'],
    ['MUST NOT contain a double-dot segment', 'https://client.example/a/../c'],
    ['the default port', 'https://client.example:443/c'],
    ['port 0', 'https://client.example:0/c'],
    ['a host that is not in its ASCII form', 'https://bücher.example/c'],
    ['a dot behind the host', 'https://client.example./c'],
    ['an empty label', 'https://client..example/c'],
    ['a name of the own network', 'https://client/c'],
    ['localhost, in production', 'https://localhost/c'],
    ['an address', 'https://8.8.8.8/c'],
    ['an IPv6 address', 'https://[2606:4700:4700::1111]/c'],
    ['loopback', 'https://127.0.0.1/c'],
    ['more than 1024 characters', `https://client.example/${'c'.repeat(1024)}`],
    ['no URL', 'mcpc_abc'],
    ['nothing', ''],
  ])('isDocumentUrl refuses %s: %s', (_rule, text) => {
    expect(isDocumentUrl(text, false)).toBe(false)
  })

  it.each<[text: string, expected: boolean]>([
    ['http://localhost:4711/c', true],
    ['https://localhost/c', true],
    ['http://localhost/', false],
    ['http://client.example/c', false],
    ['http://10.0.0.1/c', false],
    ['ftp://localhost/c', false],
  ])('isDocumentUrl in development decides about %s: %s', (text, expected) => {
    expect(isDocumentUrl(text, true)).toBe(expected)
  })

  it('CIMD 3: property: one URL has one accepted spelling', () => {
    // Built from parts that parsers disagree about: a random URL is rarely accepted, and slow to generate.
    const scheme = fc.constantFrom('https://', 'https://', 'HTTPS://', 'https:/', 'https:\\\\', 'http://')
    const host = fc.constantFrom(
      'a.example',
      'A.example',
      'a.example.',
      '%61.example',
      'u@a.example',
      '127.1',
      'ü.example',
    )
    const port = fc.constantFrom('', '', ':443', ':8443', ':0', ':08443')
    const part = fc.constantFrom(
      '/',
      '/c',
      'a',
      '%61',
      '%2E',
      '.',
      '..',
      '\\',
      '?',
      '#',
      '@',
      'ü',
      ' ',
      '\t',
      '%zz',
    )
    const url = fc.tuple(scheme, host, port, fc.array(part, { maxLength: 8 }))
    let accepted = 0
    fc.assert(
      fc.property(url, ([before, name, behind, path]) => {
        const text = `${before}${name}${behind}/c${path.join('')}`
        if (!isDocumentUrl(text, false)) return
        accepted += 1
        expect(new URL(text).href).toBe(text)
        expect(text).toMatch(/^https:\/\/a\.example(?::8443)?\//)
      }),
      { numRuns: 2000 },
    )
    expect(accepted).toBeGreaterThan(0)
  })
})

describe('readClientDocument (section 4; MCP 2026-07-28, client id metadata documents)', () => {
  it('CIMD 4.1: readClientDocument describes the client', () => {
    const reading = read({
      client_uri: 'https://client.example/',
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: 'mcp',
      logo_uri: 'https://client.example/logo.png',
      unknown: { deep: true },
    })
    expect(reading).toEqual({
      kind: 'client',
      client: {
        id: url,
        name: 'Quill',
        uri: 'https://client.example/',
        redirectUris: redirect_uris,
        grantTypes: ['authorization_code'],
        scope: 'mcp',
        keys: undefined,
        authMethod: 'none',
      },
    })
  })

  it.each<[rule: string, changes: JsonObject, expected: JsonObject]>([
    ['an omitted method is none, as there is no secret', {}, { authMethod: 'none' }],
    [
      'private_key_jwt with keys',
      { token_endpoint_auth_method: 'private_key_jwt', jwks },
      { authMethod: 'private_key_jwt', keys: { kind: 'jwks', keys: jwks.keys } },
    ],
    [
      'private_key_jwt that lists none as well is public, and its keys are known',
      {
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'],
        jwks,
      },
      { authMethod: 'none', keys: { kind: 'jwks', keys: jwks.keys } },
    ],
    [
      'a method that is not offered here, beside none',
      { token_endpoint_auth_method: 'tls_client_auth', token_endpoint_auth_methods: ['none'] },
      { authMethod: 'none' },
    ],
    ['omitted grant types stay signed in', {}, { grantTypes: ['authorization_code', 'refresh_token'] }],
  ])('%s', (_rule, changes, expected) => {
    expect(read(changes)).toMatchObject({ kind: 'client', client: expected })
  })

  it.each<[rule: string, changes: JsonObject]>([
    ['client_id MUST be the URL', { client_id: 'https://client.example/other' }],
    ['client_id MUST be there', { client_id: undefined }],
    ['client_name MUST be there', { client_name: undefined }],
    ['redirect_uris MUST be there', { redirect_uris: undefined }],
    ['a redirect URI of an own scheme', { redirect_uris: ['quill://cb'] }],
    ['CIMD 4.1: client_secret MUST NOT be there, even as null', { client_secret: null }],
    ['client_secret_expires_at MUST NOT be there', { client_secret_expires_at: 0 }],
    ['CIMD 4.1: MUST NOT use client_secret_jwt', { token_endpoint_auth_method: 'client_secret_jwt' }],
    [
      'a shared secret, also beside none',
      {
        token_endpoint_auth_method: 'client_secret_post',
        token_endpoint_auth_methods_supported: ['none'],
      },
    ],
    ['a method that is not offered here', { token_endpoint_auth_method: 'tls_client_auth' }],
    ['a method that is no text', { token_endpoint_auth_method: ['none'] }],
    ['private_key_jwt without keys', { token_endpoint_auth_method: 'private_key_jwt' }],
  ])('MCP auth Client-ID-Metadata-Documents: a document is invalid: %s', (_rule, changes) => {
    expect(read(changes)).toMatchObject({ kind: 'invalid', reason: expect.stringMatching(/\.$/) })
  })

  it.each([undefined, []])('readClientDocument refuses %j instead of an object', (value) => {
    expect(readClientDocument(url, value, policy).kind).toBe('invalid')
  })
})

const date = (seconds: number): string => new Date((start + seconds) * 1000).toUTCString()

const seconds = (headers: Record<string, string>): number =>
  freshnessOf(new Headers(headers), start).freshUntil - start

describe('freshnessOf (RFC 9111 sections 4.2 and 5.2.2)', () => {
  it.each<[rule: string, headers: Record<string, string>, expected: number]>([
    ['five minutes when the host does not say', {}, 300],
    ['max-age', { 'cache-control': 'max-age=600' }, 600],
    ['max-age among others, in capitals', { 'cache-control': 'public, MAX-AGE=600, immutable' }, 600],
    ['max-age less the Age', { 'cache-control': 'max-age=600', age: '200' }, 400],
    ['a quoted max-age', { 'cache-control': 'max-age="600"' }, 600],
    ['max-age before Expires', { 'cache-control': 'max-age=600', expires: date(60) }, 600],
    ['CIMD 4.4: not less than 30 seconds: max-age=0', { 'cache-control': 'max-age=0' }, 30],
    ['not less than 30 seconds: no-cache', { 'cache-control': 'no-cache, max-age=600' }, 30],
    ['not less than 30 seconds: no-store', { 'cache-control': 'no-store' }, 30],
    ['not more than a day', { 'cache-control': 'max-age=31536000' }, 86_400],
    [
      'numbers beyond all numbers',
      { 'cache-control': `max-age=${'9'.repeat(400)}`, age: '9'.repeat(400) },
      30,
    ],
    ['a max-age beyond all numbers', { 'cache-control': `max-age=${'9'.repeat(400)}` }, 86_400],
    ['a max-age that is no number', { 'cache-control': 'max-age=soon' }, 30],
    ['a cache of others has its own s-maxage', { 'cache-control': 's-maxage=600' }, 300],
    ['Expires by the clock of the host', { date: date(-7200), expires: date(-6600) }, 600],
    ['Expires without a Date', { expires: date(600) }, 600],
    ['Expires in the past', { date: date(0), expires: date(-1) }, 30],
    ['an Expires that is no date', { expires: 'soon' }, 30],
  ])('%s', (_rule, headers, expected) => {
    expect(seconds(headers)).toBe(expected)
  })

  it('freshnessOf returns when the document was fetched', () => {
    expect(freshnessOf(new Headers(), start)).toEqual({
      fetchedAt: start,
      freshUntil: start + 300,
    })
  })
})
