import { describe, expect, it } from 'vitest'
import { configSample } from '../../../tests/support/server/config-sample.ts'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  noteAccess,
  noteEmbedded,
  noteRateLimit,
  noteRedirectUrl,
  noteSessionLimits,
  noteSessionTokens,
} from './provider-note.ts'

describe('notes about the provider', () => {
  it('the embedded one is for trying out', () => {
    expect(noteEmbedded()).toMatchObject({
      state: 'warn',
      message: expect.stringContaining('trying out only'),
    })
  })

  it.each(['supabase', 'oidc'] as const)('%s must allow the exact redirect URL', (provider) => {
    const finding = noteRedirectUrl(configSample({ provider, baseUrl: 'https://mcp.example.com/base' }))
    expect(finding).toMatchObject({ state: 'ok', message: expect.stringMatching(/^Note: /) })
    expect(finding.fix).toContain('https://mcp.example.com/base/oauth/callback')
  })

  it('supabase: the three settings that end sessions are named, and the time that is at stake', () => {
    const [finding] = noteSessionLimits(configSample({ provider: 'supabase' }))
    expect(finding?.state).toBe('ok')
    expect(finding?.message).toMatch(/30 days: time-box, inactivity timeout and single session per user/)
  })

  it.each([
    [3600, '1 hours'],
    [36 * 3600, '36 hours'],
    [7 * 86_400, '7 days'],
  ])('a session of %i s is called %s', (sessionTtl, text) => {
    expect(noteSessionLimits(configSample({ provider: 'oidc', sessionTtl }))[0]?.message).toContain(text)
  })

  it.each([
    ['supabase', 29, 'ok'],
    ['supabase', 30, 'warn'],
    ['supabase', 500, 'warn'],
    ['oidc', 500, undefined],
    ['embedded', 500, undefined],
  ] as const)('%s with %i sign-ins a minute: %s', (provider, signInLimit, state) => {
    expect(noteRateLimit(configSample({ provider, signInLimit }))[0]?.state).toBe(state)
  })

  it.each([
    ['supabase', true, 'authenticated', /^On: \/mcp also takes/],
    ['supabase', false, 'authenticated', /^Off:/],
    ['oidc', true, undefined, /nothing but tokens of this server/],
    ['oidc', true, 'https://mcp.example.com/mcp', /also takes access tokens of the provider for https/],
  ] as const)('%s with session tokens %s for %s', (provider, sessionTokens, providerAudience, message) => {
    const finding = noteSessionTokens(configSample({ provider, sessionTokens, providerAudience }))
    expect(finding.message).toMatch(message)
  })
})

describe('who may come in', () => {
  it.each([
    ['https://accounts.google.com', true],
    ['https://login.microsoftonline.com/common/v2.0', true],
    ['https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0', true],
    ['https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0', false],
    ['https://id.example.com', false],
  ])('without rules, at %s: everybody in the world %s', (providerIssuer, warns) => {
    const config = configSample({ provider: 'oidc', providerIssuer })
    expect(noteAccess(config, undefined).map(({ state }) => state)).toEqual(warns ? ['warn'] : [])
    expect(noteAccess({ ...config, provider: 'supabase' }, undefined)).toEqual([])
  })

  it.each([
    ['allow', false, ['warn']],
    ['allow', true, []],
    ['deny', false, []],
  ] as const)('a rule that would %s by email, confirmed %s', (effect, confirmsEmail, states) => {
    const folder = mkdtempSync(join(tmpdir(), 'drawbridge-note-'))
    try {
      const access = join(folder, 'access.json')
      const rules = [{ [effect]: { email: ['*@example.com'] } }, { allow: {} }]
      writeFileSync(access, JSON.stringify({ rules }))
      const config = configSample({ provider: 'supabase', access })
      expect(noteAccess(config, { confirmsEmail }).map(({ state }) => state)).toEqual(states)
      expect(noteAccess(config, undefined)).toEqual([])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
