import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { now, runCommand } from './testing/command-run.ts'
import { storeLogin } from './testing/stored-login.ts'

describe('status', () => {
  let home: string
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'drawbridge-status-'))
  })
  afterEach(() => rmSync(home, { recursive: true }))

  it('without any login says what to run, and is 3', async () => {
    const { code, stderr, stdout } = await runCommand(['status'], { home })
    expect(code).toBe(3)
    expect(stderr).toBe('No login is stored.\ndrawbridge login <url>')
    expect(stdout).toContain('Nothing was stored yet')
  })

  it('prints each login, and no secret', async () => {
    await storeLogin(home, 'https://b.example/mcp')
    await storeLogin(home, 'https://a.example/mcp', { profile: 'work', signInNeeded: 'invalid_grant' })
    const { code, stdout } = await runCommand(['status'], { home })
    expect(code).toBe(3)
    expect(stdout).toMatch(/^https:\/\/a\.example\/mcp \(profile work\)\n {2}sign-in needed/)
    expect(stdout).toContain('  -> drawbridge login https://a.example/mcp --profile work\n')
    expect(stdout).toContain('https://b.example/mcp\n  signed in, since ')
    expect(stdout).toMatch(/token {4}ends in (?:1 h|59 min.*), renewed without you/)
    expect(stdout).toContain('their key is in a file there')
    expect(stdout).not.toContain('sEcReT')
  })

  it('is 0 when every login that was asked for is good', async () => {
    await storeLogin(home, 'https://b.example/mcp')
    await storeLogin(home, 'https://a.example/mcp', { signInNeeded: 'invalid_grant' })
    expect((await runCommand(['status', 'https://B.example:443/mcp'], { home })).code).toBe(0)
    expect((await runCommand(['status', 'https://a.example/mcp'], { home })).code).toBe(3)
    const other = await runCommand(['status', 'https://c.example/mcp'], { home })
    expect(other.code).toBe(3)
    expect(other.stderr).toContain('drawbridge login https://c.example/mcp')
  })

  it('with --json prints the same for programs', async () => {
    const at = now()
    await storeLogin(home, 'https://b.example/mcp', {
      signedInAt: at,
      tokens: { accessToken: 'sEcReT', issuedAt: at, expiresAt: at - 10 },
    })
    const run = await runCommand(['status', '--json'], { home })
    expect(run.json()).toEqual({
      ok: false,
      home: join(home, '.drawbridge'),
      key: 'file',
      logins: [
        {
          server: 'https://b.example/mcp',
          profile: 'default',
          state: 'sign_in_needed',
          issuer: 'https://as.example',
          client_id: 'client-1',
          scope: null,
          signed_in_at: at,
          expires_at: at - 10,
          renews: false,
          reason: 'the access token has ended, and cannot be renewed',
          next_step: 'drawbridge login https://b.example/mcp',
        },
      ],
    })
    expect(run.stdout).not.toContain('sEcReT')
  })

  it('with a fault of the configuration is 2, for programs too', async () => {
    const run = await runCommand(['status', '--json', '--retyr', '5'], { home })
    expect(run.code).toBe(2)
    expect(run.json()).toMatchObject({ ok: false, code: 'configuration' })
    expect(run.stderr).toContain('Did you mean --retry?')
  })
})
