import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { now, runCommand } from '../../../tests/support/bridge/cli/command-run.ts'
import { storeLogin } from '../../../tests/support/bridge/cli/stored-login.ts'
import { filesIn } from '../../../tests/support/bridge/process/stage.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

const url = 'https://mcp.example.com/mcp'

function jwt(claims: Record<string, unknown>): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part(claims)}.c2ln`
}

describe('the command token', () => {
  let home: string
  beforeEach(() => void (home = temporaryFolder()))

  it('token prints when the token expires, and the token itself only with --show', async () => {
    await storeLogin(home, url)
    const quiet = await runCommand(['token', url], { home })
    expect(quiet.code).toBe(0)
    expect(quiet.stdout).toBe('')
    expect(quiet.stderr).toMatch(/It expires in .*; the bridge renews it\. To print the token itself: --show/)
    const shown = await runCommand(['token', url, '--show'], { home })
    expect(shown.stdout).toBe('sEcReT-access')
    expect(shown.stderr).not.toContain('sEcReT')
  })

  it('token says that the token of a client without users is renewed', async () => {
    const client = { clientId: 'machine', tokenEndpointAuthMethod: 'none', origin: 'static' } as const
    await storeLogin(home, url, { client, tokens: { accessToken: 'sEcReT-own', issuedAt: now() } })
    const info = join(home, 'client.json')
    writeFileSync(info, JSON.stringify({ client_id: 'machine', client_secret: 'sEcReT' }), { mode: 0o600 })
    const words = ['token', url, '--show', '--client-credentials', '--static-oauth-client-info', `@${info}`]
    const run = await runCommand(words, { home })
    expect(run.stdout).toBe('sEcReT-own')
    expect(run.stderr).toContain('the bridge renews it')
  })

  it('token prints the same facts with --json', async () => {
    await storeLogin(home, url)
    expect((await runCommand(['token', url, '--json'], { home })).json()).toEqual({
      ok: true,
      server: url,
      expires_at: expect.any(Number),
      expires_in: expect.any(Number),
      scope: 'mcp',
    })
    const shown = await runCommand(['token', url, '--json', '--show'], { home })
    expect(shown.json()).toMatchObject({ token: 'sEcReT-access' })
  })

  it('token says what to run without a login, and exits with 3', async () => {
    const run = await runCommand(['token', url, '--json'], { home })
    expect(run.code).toBe(3)
    expect(run.json()).toMatchObject({
      ok: false,
      code: 'oauth_sign_in_needed',
      next_step: `drawbridge login ${url}`,
    })
  })

  it('token refuses a token of a variable', async () => {
    const run = await runCommand(['token', url, '--show'], {
      home,
      environment: { DRAWBRIDGE_TOKEN: 'sEcReT' },
    })
    expect(run.code).toBe(1)
    expect(run.stdout + run.stderr).not.toContain('sEcReT')
  })
})

describe('the command token set', () => {
  let home: string
  beforeEach(() => void (home = temporaryFolder()))

  it('token set stores the token from stdin encrypted', async () => {
    const token = jwt({ iss: 'https://as.example', exp: now() + 1800 })
    const stored = await runCommand(['token', 'set', url], { home, stdin: `Bearer ${token}\n` })
    expect(stored.code).toBe(0)
    expect(stored.stderr).toMatch(/Stored the token .*: it expires in (?:30|29) min/)
    expect((await runCommand(['token', url, '--show'], { home })).stdout).toBe(token)
    expect((await runCommand(['status', '--json'], { home })).json()).toMatchObject({
      ok: true,
      logins: [{ server: url, issuer: 'https://as.example', renews: false }],
    })
    expect([...filesIn(home).values()].join()).not.toContain(token)
  })

  it('token set replaces an existing login', async () => {
    await storeLogin(home, url)
    const stored = await runCommand(['token', 'set', url, '--json'], { home, stdin: 'opaque-token' })
    expect(stored.json()).toEqual({ ok: true, server: url, expires_at: null, expires_in: null })
    expect((await runCommand(['token', url, '--show'], { home })).stdout).toBe('opaque-token')
  })

  it.each([
    ['', 2, /No token on stdin/],
    ['two words', 2, /without spaces/],
    ['x'.repeat(70_000), 1, /too long/],
    [jwt({ exp: 1_000_000_000 }), 1, /expired .* ago/],
  ])('token set refuses %s', async (stdin, code, message) => {
    const run = await runCommand(['token', 'set', url], { home, stdin })
    expect(run.code).toBe(code)
    expect(run.stderr).toMatch(message)
    expect(run.stderr.split('\n').at(-1)).toContain(`drawbridge token set ${url}`)
    expect((await runCommand(['status'], { home })).code).toBe(3)
  })
})
