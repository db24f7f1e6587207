import { expect, it } from 'vitest'
import type { OAuthConfig } from '../oauth-config.ts'
import { chooseScope } from './scope-choice.ts'
import { loginAt } from '../../../tests/support/bridge/oauth/oauth-server.ts'
import { oauthConfig } from '../../../tests/support/bridge/oauth/oauth-ports.ts'

const issuer = 'https://as.example'

interface Row {
  challenge?: string
  resource?: string[]
  listed?: string[]
  granted?: string
  grantedBy?: string
  config?: Partial<OAuthConfig>
}

it.each<[name: string, Row, scope: string | undefined]>([
  ['nothing says any', {}, undefined],
  ['nothing says any, the server lists some', { listed: ['a', 'offline_access'] }, undefined],
  ['an empty list is none', { resource: [] }, undefined],
  ['an empty challenge is none', { challenge: ' ', resource: ['a'] }, 'a'],
  ['what the resource lists', { resource: ['a', 'b'] }, 'a b'],
  ['the challenge counts for more', { challenge: 'c', resource: ['a', 'b'] }, 'c'],
  ['what was granted is kept', { challenge: 'write', granted: 'read basic' }, 'write read basic'],
  ['nothing twice', { challenge: 'read', granted: 'read' }, 'read'],
  ['not what another issuer granted', { challenge: 'a', granted: 'b', grantedBy: 'https://x.example' }, 'a'],
  ['no earlier scope alone', { granted: 'read' }, undefined],
  ['offline access when listed', { resource: ['a'], listed: ['a', 'offline_access'] }, 'a offline_access'],
  ['no offline access when not listed', { resource: ['a', 'offline_access'], listed: ['a'] }, 'a'],
  ['as the server says when nothing is listed', { challenge: 'a offline_access' }, 'a offline_access'],
  [
    'the client itself needs no offline access',
    { resource: ['a'], listed: ['offline_access'], config: { grant: 'client_credentials' } },
    'a',
  ],
  [
    'the user decides',
    { challenge: 'a', granted: 'b', listed: ['offline_access'], config: { scope: ' x  y ' } },
    'x y',
  ],
  ['the user decides for none', { challenge: 'a', config: { scope: '' } }, undefined],
  ['an ID token needs openid', { challenge: 'a', config: { useIdToken: true } }, 'a openid'],
  ['an ID token needs openid alone', { config: { useIdToken: true } }, 'openid'],
])('a client chooses the scope to request by rule: %s', (_name, row, scope) => {
  const { challenge, resource, listed, granted, grantedBy, config } = row
  const tokens = { accessToken: 'a', issuedAt: 0, ...(granted === undefined ? {} : { scope: granted }) }
  const previous = loginAt({ origin: grantedBy ?? issuer }, {}, { tokens })
  const server = {
    metadata: { issuer, ...(listed === undefined ? {} : { scopes_supported: listed }) },
    resource: undefined,
    resourceScopes: resource,
    isAssumed: false,
    askedFor: issuer,
  }
  const request = { previous, ...(challenge === undefined ? {} : { challengeScope: challenge }) }
  expect(chooseScope(request, server, oauthConfig('https://mcp.example/mcp', config))).toBe(scope)
})
