import { parseAddressRanges } from '../../config/config-value.ts'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { findingsOf } from '@drawbridge/shared/terminal/check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { configSample } from '../../../tests/support/server/config-sample.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { type ProviderUse, providerUseChecks, reachChecks, settingChecks } from './setting-check.ts'

const reach = (name: string, config: Partial<ServerConfig>): Finding | undefined =>
  findingsOf(reachChecks, { ...configSample(), ...config }).find((finding) => finding.name === name)

const use = (
  name: string,
  config: Partial<ServerConfig>,
  capabilities?: ProviderUse['capabilities'],
): Finding | undefined =>
  findingsOf(providerUseChecks, { config: { ...configSample(), ...config }, capabilities }).find(
    (finding) => finding.name === name,
  )

describe('doctor, on the configuration', () => {
  it('doctor reports each fault of the configuration as a finding of its own', () => {
    const findings = findingsOf(settingChecks, { problems: ['LISTEN: bad.', 'STORE: bad.'], given: [] })
    expect(findings.map(({ state, message }) => `${state} ${message}`)).toEqual([
      'fail LISTEN: bad.',
      'fail STORE: bad.',
    ])
  })

  it.each([
    [[], 'Every setting has its default.'],
    [['--store', 'DRAWBRIDGE_A'], '--store, DRAWBRIDGE_A; all others have their defaults.'],
  ])('doctor says of the given settings %j: %s', (given, message) => {
    expect(findingsOf(settingChecks, { problems: [], given })).toEqual([
      { name: 'configuration', state: 'ok', message },
    ])
  })
})

describe('doctor, on how clients reach the server', () => {
  it.each([
    [599, 'warn'],
    [600, undefined],
  ])('doctor reports access tokens of %i s as %s', (accessTokenTtl, state) => {
    expect(reach('token-life', { accessTokenTtl })?.state).toBe(state)
  })

  it.each<[baseUrl: string, trustedProxies: string[], state: string]>([
    ['http://localhost:8787', [], 'ok'],
    ['https://mcp.example.com', [], 'warn'],
    ['https://mcp.example.com', ['10.0.0.0/8'], 'ok'],
    ['https://mcp.example.com', parseAddressRanges('private'), 'ok'],
  ])('doctor reports %s behind %j as %s', (baseUrl, trustedProxies, state) => {
    expect(reach('trusted-proxies', { baseUrl, trustedProxies })?.state).toBe(state)
  })

  it.each([
    ['http://localhost:8787', '127.0.0.1', 'ok'],
    ['http://localhost:8787', '0.0.0.0', 'warn'],
    ['https://mcp.example.com', '127.0.0.1', 'ok'],
    ['https://mcp.example.com', '0.0.0.0', 'ok'],
  ])('doctor reports %s on %s as %s', (baseUrl, host, state) => {
    expect(reach('transport', { baseUrl, listen: { host, port: 8787 } })?.state).toBe(state)
  })
})

it.each(['supabase', 'oidc'] as const)(
  'doctor notes the exact redirect URL to allow at the provider %s',
  (provider) => {
    const finding = use('redirect-url', { provider, baseUrl: 'https://mcp.example.com/base' })
    expect(finding).toMatchObject({ state: 'note' })
    expect(finding?.fix).toContain('https://mcp.example.com/base/oauth/callback')
  },
)

describe('doctor, on who may sign in', () => {
  it.each([
    ['https://accounts.google.com', true],
    ['https://login.microsoftonline.com/common/v2.0', true],
    ['https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0', true],
    ['https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0', false],
    ['https://id.example.com', false],
  ])('doctor without access rules at %s warns that anyone may sign in: %s', (providerIssuer, warns) => {
    const config = configSample({ provider: 'oidc', providerIssuer })
    expect(use('access', config)?.state).toEqual(warns ? 'warn' : undefined)
    expect(use('access', { ...config, provider: 'supabase' })).toBe(undefined)
  })

  it.each([
    ['allow', false, 'warn'],
    ['allow', true, undefined],
    ['deny', false, undefined],
  ] as const)(
    'doctor reports a rule that would %s by email, confirmed %s',
    (effect, confirmsEmail, state) => {
      const access = join(temporaryFolder(), 'access.json')
      const rules = [{ [effect]: { email: ['*@example.com'] } }, { allow: {} }]
      writeFileSync(access, JSON.stringify({ rules }))
      const config = configSample({ provider: 'supabase', access })
      expect(use('access', config, { confirmsEmail })?.state).toBe(state)
      expect(use('access', config)).toBe(undefined)
    },
  )
})
