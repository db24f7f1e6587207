import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { now, runCommand } from '../../../tests/support/bridge/cli/command-run.ts'
import { storeLogin } from '../../../tests/support/bridge/cli/stored-login.ts'
import { damageLogin } from '../../../tests/support/bridge/credentials/usual-login.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

describe('status', () => {
  let home: string
  beforeEach(() => void (home = temporaryFolder()))

  it('status says what to run without any login, and exits with 3', async () => {
    const { code, stderr, stdout } = await runCommand(['status'], { home })
    expect(code).toBe(3)
    expect(stdout).toBe('No login is stored.')
    expect(stderr).toBe('drawbridge login <url>')
  })

  it('status prints each login without secrets', async () => {
    await storeLogin(home, 'https://b.example/mcp')
    await storeLogin(home, 'https://a.example/mcp', { profile: 'work', signInNeeded: 'invalid_grant' })
    const { code, stdout } = await runCommand(['status'], { home })
    expect(code).toBe(3)
    expect(stdout).toMatch(/^https:\/\/a\.example\/mcp \(profile work\)\n {2}sign-in needed/)
    expect(stdout).toContain('  -> drawbridge login https://a.example/mcp --profile work\n')
    expect(stdout).toContain('https://b.example/mcp\n  signed in, since ')
    expect(stdout).toMatch(/token {4}expires in (?:1 h|59 min.*), renewed without you/)
    expect(stdout).toContain('their key is in a file there')
    expect(stdout).not.toContain('sEcReT')
  })

  const jwtOf = (claims: object): string =>
    ['e30', Buffer.from(JSON.stringify(claims)).toString('base64url'), 'c2ln'].join('.')

  it.each<[name: string, tokens: { accessToken: string; idToken?: string }, account: string]>([
    [
      'the email address of the ID token',
      { accessToken: 'a', idToken: jwtOf({ email: 'ada@x.example', name: 'A' }) },
      'ada@x.example',
    ],
    [
      'the user name of an ID token without one',
      { accessToken: 'a', idToken: jwtOf({ sub: '7', preferred_username: 'ada' }) },
      'ada',
    ],
    ['what the access token says', { accessToken: jwtOf({ email: 'bob@x.example' }) }, 'bob@x.example'],
    [
      'the ID token before the access token',
      { accessToken: jwtOf({ email: 'b' }), idToken: jwtOf({ name: 'Ada' }) },
      'Ada',
    ],
    ['no token that tells it', { accessToken: 'a' }, 'unknown'],
    ['unusable tokens', { accessToken: jwtOf({ email: 5, name: '' }), idToken: 'x.y.z' }, 'unknown'],
  ])('status says who is signed in, by %s', async (_name, tokens, account) => {
    await storeLogin(home, 'https://a.example/mcp', { tokens: { issuedAt: now(), ...tokens } })
    expect((await runCommand(['status'], { home })).stdout).toContain(`  account  ${account}\n`)
    const { logins } = (await runCommand(['status', '--json'], { home })).json() as { logins: object[] }
    expect(logins).toEqual([expect.objectContaining({ account: account === 'unknown' ? null : account })])
  })

  it('status escapes control characters from a server', async () => {
    const evil = '\u001B]0;owned\u0007\u009B31m\nsigned in'
    const tokens = { accessToken: 'a', issuedAt: now(), scope: evil }
    await storeLogin(home, 'https://a.example/mcp', {
      issuer: `https://as.example/${evil}`,
      client: { clientId: evil, tokenEndpointAuthMethod: 'none', origin: 'dynamic' },
      tokens,
      signInNeeded: evil,
    })
    const { stdout } = await runCommand(['status'], { home })
    const shown = String.raw`\u001b]0;owned\u0007\u009b31m\u000asigned in`
    for (const line of [
      `issuer   https://as.example/${shown}`,
      `client   ${shown}`,
      `scope    ${shown}`,
      `reason   ${shown}`,
    ])
      expect(stdout).toContain(line)
    expect(stdout).not.toMatch(/[^\P{C}\n]/u)
  })

  it('status lists every fault of the configuration file, and what to do', async () => {
    const path = join(home, '.drawbridge', 'config.json')
    mkdirSync(join(home, '.drawbridge'))
    writeFileSync(path, '{ "hedaer": ["a"], "servers": 3 }')
    const { code, stderr } = await runCommand(['status'], { home })
    expect(code).toBe(2)
    expect(stderr).toContain('Did you mean header?')
    expect(stderr).toContain('expected servers to be an object')
    expect(stderr).toContain(`Correct ${path}, or move it away.`)
    writeFileSync(path, '{\n  "debug": true')
    expect((await runCommand(['status'], { home })).stderr).toContain('is not valid JSON, line 2.')
  })

  it('status exits with 0 if every selected login is valid', async () => {
    await storeLogin(home, 'https://b.example/mcp')
    await storeLogin(home, 'https://a.example/mcp', { signInNeeded: 'invalid_grant' })
    expect((await runCommand(['status', 'https://B.example:443/mcp'], { home })).code).toBe(0)
    expect((await runCommand(['status', 'https://a.example/mcp'], { home })).code).toBe(3)
    const other = await runCommand(['status', 'https://c.example/mcp'], { home })
    expect(other.code).toBe(3)
    expect(other.stderr).toContain('drawbridge login https://c.example/mcp')
  })

  it.each([
    ['foo', /foo: expected a URL that begins with https:\/\//],
    ['mcp.example.com/mcp', /Did you mean https:\/\/mcp\.example\.com\/mcp\?/],
    ['ftp://a.example/mcp', /expected a URL/],
    ['a'.repeat(64), /expected a URL/],
  ])('status refuses %s, which is not a URL', async (operand, sentence) => {
    await storeLogin(home, 'https://b.example/mcp')
    const run = await runCommand(['status', operand, '--json'], { home })
    expect(run.code).toBe(2)
    expect(run.stderr).toMatch(sentence)
    expect(run.stderr).toContain('Every flag: drawbridge status --help')
    expect(run.json()).toMatchObject({ ok: false, code: 'configuration' })
  })

  it('status accepts plain http without a flag, as it sends no request', async () => {
    await storeLogin(home, 'http://b.example/mcp')
    expect((await runCommand(['status', 'http://b.example/mcp'], { home })).code).toBe(0)
  })

  it('status prints the same facts with --json', async () => {
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
          account: null,
          scope: null,
          signed_in_at: at,
          expires_at: at - 10,
          renews: false,
          reason: 'the token has expired, and there is no refresh token',
          next_step: 'drawbridge login https://b.example/mcp',
        },
      ],
      unreadable: [],
    })
    expect(run.stdout).not.toContain('sEcReT')
  })

  it('status shows unreadable logins with their file, the reason and what to run, and exits with 3', async () => {
    await storeLogin(home, 'https://b.example/mcp')
    await storeLogin(home, 'https://a.example/mcp')
    const [id, file] = damageLogin(home, 'https://a.example/mcp', 'damaged')
    const { code, stdout, stderr } = await runCommand(['status'], { home })
    expect(code).toBe(3)
    expect(stdout).toContain('https://b.example/mcp\n  signed in, since ')
    expect(stdout).toContain(
      `${file}\n  cannot be read\n  reason   The stored login is cut off or no JSON.\n  -> Delete that file, and sign in again at its server.\n`,
    )
    expect(stderr).toBe('')
    const run = await runCommand(['status', '--json'], { home })
    expect(run.code).toBe(3)
    expect(run.json()).toMatchObject({
      ok: false,
      key: 'file',
      logins: [{ server: 'https://b.example/mcp', state: 'signed_in' }],
      unreadable: [
        {
          id,
          file,
          code: 'credentials_corrupt',
          reason: 'The stored login is cut off or no JSON.',
          next_step: 'Delete that file, and sign in again at its server.',
        },
      ],
    })
    rmSync(file)
    expect((await runCommand(['status'], { home })).code).toBe(0)
  })

  it('status shows only the unreadable login of the given server', async () => {
    await storeLogin(home, 'https://b.example/mcp')
    await storeLogin(home, 'https://a.example/mcp')
    damageLogin(home, 'https://a.example/mcp', 'damaged')
    expect((await runCommand(['status', 'https://b.example/mcp'], { home })).code).toBe(0)
    const { code, stdout } = await runCommand(['status', 'https://A.example/mcp/'], { home })
    expect(code).toBe(3)
    expect(stdout).toContain('cannot be read')
    expect(stdout).not.toContain('b.example')
  })

  it('status exits with 1 for a fault that a sign-in does not repair', async () => {
    await storeLogin(home, 'https://a.example/mcp')
    damageLogin(home, 'https://a.example/mcp', '{"v":2}')
    const { code, stdout } = await runCommand(['status'], { home })
    expect(code).toBe(1)
    expect(stdout).toContain('  -> Update this drawbridge')
  })

  it.each([
    ['the key', 'key'],
    ['the list of keys', 'index.json'],
  ])('status reports every login as unreadable without %s', async (_what, name) => {
    await storeLogin(home, 'https://a.example/mcp')
    await storeLogin(home, 'https://b.example/mcp')
    writeFileSync(join(home, '.drawbridge', 'credentials', name), 'damaged')
    const { code, json } = await runCommand(['status', '--json'], { home })
    expect(code).toBe(3)
    const { unreadable } = json() as { unreadable: { code: string; next_step: string }[] }
    expect(unreadable.map((login) => login.code)).toEqual([
      'credentials_key_missing',
      'credentials_key_missing',
    ])
    for (const login of unreadable) expect(login.next_step).toMatch(/drawbridge logout --all$/)
  })
})
