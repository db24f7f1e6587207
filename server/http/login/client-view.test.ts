import { describe, expect, it } from 'vitest'
import { type Client, deviceGrantType } from '../../core/clients/client.ts'
import { publicClient } from '../../../tests/support/server/core/sign-in-sample.ts'
import { clientView, listedClient } from './client-view.ts'
import { inEnglish } from '../../../tests/support/pages/view-sample.ts'

const id = 'https://claude.ai/client.json'
const document: Partial<Client> = { id, kind: 'metadata_document' }
const web = 'https://claude.ai/api/mcp/auth_callback'
const loopback = 'http://127.0.0.1:4711/callback'
const verified = { verifiedHost: 'claude.ai' }
const described = { describedBy: 'claude.ai' }
const elsewhere = { ...described, returnsElsewhere: true }
const keyed: Partial<Client> = { ...document, authMethod: 'private_key_jwt' }

it.each<[rule: string, part: Partial<Client>, redirectUri: string | undefined, expected: object]>([
  ['CIMD 6.4: a metadata document, returning to the web', document, web, verified],
  [
    'MCP auth Localhost-Redirect-URI-Risks, RFC 8252 8.6: localhost redirects prove nothing: any program can use the id',
    document,
    loopback,
    described,
  ],
  ['a redirect to an app’s own scheme proves nothing', document, 'cursor://oauth/callback', described],
  ['a device proves nothing', document, undefined, described],
  ['https on this computer proves nothing', document, 'https://localhost/callback', described],
  ['a client that authenticates itself proves its host with any redirect', keyed, loopback, verified],
  [
    'a document proves nothing about another host that it returns to, a subdomain included',
    document,
    'https://evil.claude.ai/callback',
    elsewhere,
  ],
  [
    'a document proves nothing about another port of its host',
    document,
    'https://claude.ai:8443/callback',
    elsewhere,
  ],
  [
    'keys in the document prove nothing about another host',
    keyed,
    'https://evil.example/callback',
    elsewhere,
  ],
  ['the host is proven in any spelling', document, 'https://CLAUDE.ai:443/callback', verified],
  ['a registered client proves nothing', {}, web, {}],
  [
    'its own page, whatever that proves',
    { uri: 'https://about.example' },
    web,
    { uri: 'https://about.example' },
  ],
  [
    'a registered client that authenticates itself: nothing either',
    { authMethod: 'client_secret_basic' },
    web,
    {},
  ],
  ['an app scheme that begins like https', document, 'https+app://claude.ai/cb', described],
  ['a scheme that ends like https', document, 'x-https://claude.ai/cb', described],
  ['a client of the operator', { kind: 'configured' }, web, { vouched: true }],
  ['one that any program can name', { kind: 'configured' }, undefined, {}],
  ['an id that only looks like a document', { id, kind: 'configured' }, web, { vouched: true }],
])('the client view shows as proven about a client: %s', (_rule, part, redirectUri, expected) => {
  expect(clientView(publicClient(part), redirectUri, inEnglish)).toEqual({ name: 'Sample', ...expected })
})

describe('a client in the list of connections', () => {
  it.each<[rule: string, part: Partial<Client>, expected: object]>([
    [
      'a listed client has its host if all its redirects prove it',
      { ...document, redirectUris: [web] },
      verified,
    ],
    [
      'a listed client has no host if one redirect does not prove it',
      { ...document, redirectUris: [web, 'http://127.0.0.1/callback'] },
      described,
    ],
    [
      'a listed client has no host if it may be a device',
      { ...document, redirectUris: [web], grantTypes: [deviceGrantType] },
      described,
    ],
    [
      'a listed client has no host if one redirect leads to another host',
      { ...document, redirectUris: [web, 'https://evil.example/'], authMethod: 'private_key_jwt' },
      described,
    ],
    ['a listed client that authenticates itself has its host', keyed, verified],
    ['a listed client without a document has no host', {}, {}],
  ])('%s', (_rule, part, expected) => {
    const client = publicClient(part)
    expect(listedClient(client.id, client, inEnglish).client).toEqual({ name: 'Sample', ...expected })
  })

  it.each([
    [id, described],
    ['mcpc_gone', {}],
  ])('a client that is no longer registered is listed by its id: %s', (gone, expected) => {
    const name = 'An app that is no longer registered'
    expect(listedClient(gone, undefined, inEnglish)).toEqual({
      client: { name, ...expected },
      returnsTo: [],
      runsOnWeb: false,
    })
  })
})

it('lists each return address of a client once', () => {
  const redirectUris = ['http://127.0.0.1/a', 'http://127.0.0.1/b', 'cursor://x/cb', web]
  const client = publicClient({ redirectUris })
  expect(listedClient(client.id, client, inEnglish).returnsTo).toEqual(['127.0.0.1', 'cursor', 'claude.ai'])
})
