import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type AdminFixture,
  adminToken,
  createAdminFixture,
} from '../../tests/support/server/admin-fixture.ts'
import { publicClient } from '../../tests/support/server/core/sign-in-sample.ts'

let admin: AdminFixture
beforeEach(() => {
  admin = createAdminFixture()
})
afterEach(() => admin.close())

const bearer = (token: string): string => `Bearer ${token}`

async function statusWith(authorization: string): Promise<number> {
  return (await admin.ask('GET', '/clients', authorization)).status
}

describe('a request without the token', () => {
  it.each([
    ['no token', '', 'no_token'],
    ['another scheme', `Basic ${adminToken}`, 'no_token'],
    ['the token without a scheme', adminToken, 'no_token'],
    ['two words', bearer(`${adminToken} ${adminToken}`), 'no_token'],
    ['another token', bearer('a'.repeat(adminToken.length)), 'wrong_token'],
    ['the beginning of the token', bearer(adminToken.slice(0, -1)), 'wrong_token'],
    ['the token with a letter more', bearer(`${adminToken}x`), 'wrong_token'],
    ['the token in capitals', bearer(adminToken.toUpperCase()), 'wrong_token'],
  ])(
    'a request with %s is answered 401 with a challenge, and recorded',
    async (_what, authorization, reason) => {
      const response = await admin.ask('GET', '/clients', authorization)
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(await response.json()).toEqual({
        error: 'unauthorized',
        error_description: 'Send the token of ADMIN_TOKEN_FILE, as Authorization: Bearer TOKEN.',
      })
      expect(admin.logged('admin_refused')).toMatchObject([
        { audit: true, address: '192.0.2.5', request_id: expect.any(String), reason, method: 'GET' },
      ])
    },
  )

  it.each([
    ['GET', '/grants?limit=0'],
    ['HEAD', '/grants'],
    ['OPTIONS', '/grants'],
    ['DELETE', '/clients/one'],
    ['POST', '/keys/rotate'],
    ['GET', '/openapi.json'],
    ['PATCH', '/nothing'],
  ])('%s %s without the admin token is answered 401', async (method, path) => {
    expect((await admin.ask(method, path, '')).status).toBe(401)
    expect((await admin.ask(method, path, bearer('x'.repeat(40)))).status).toBe(401)
  })

  it('a request without the token changes nothing', async () => {
    await admin.store.addClient(publicClient({ id: 'one' }))
    await admin.ask('DELETE', '/clients/one', bearer('x'.repeat(40)))
    expect(await admin.store.findClient('one')).toBeDefined()
  })
})

describe('the token', () => {
  it('the admin token is accepted whatever the case of the scheme', async () => {
    expect(await statusWith(`bearer ${adminToken}`)).toBe(200)
    expect(await statusWith(`BEARER  ${adminToken}`)).toBe(200)
  })

  it('the admin token follows its file within a second', async () => {
    const next = 'b'.repeat(40)
    writeFileSync(`${admin.tokenFile}.new`, `${next}\r\n`, { mode: 0o600 })
    renameSync(`${admin.tokenFile}.new`, admin.tokenFile)
    expect(await statusWith(bearer(adminToken))).toBe(200)
    admin.runtime.advance(1)
    expect(await statusWith(bearer(adminToken))).toBe(401)
    expect(await statusWith(bearer(next))).toBe(200)
    expect(admin.logged('admin_token_changed')).toMatchObject([{ audit: true }])
  })

  it.each<[what: string, change: (path: string) => void, reason: RegExp]>([
    [
      'holds a short one',
      (path) => writeFileSync(path, 'short-and-secret'),
      /expected one line of at least 32/,
    ],
    ['is empty', (path) => writeFileSync(path, ''), /expected one line/],
    ['can be read by others', (path) => chmodSync(path, 0o644), /can be used by others/],
    ['is gone', (path) => rmSync(path), /ENOENT/],
  ])('the admin token stays in use while its file %s, which is reported', async (_what, change, reason) => {
    change(admin.tokenFile)
    admin.runtime.advance(1)
    expect(await statusWith(bearer(adminToken))).toBe(200)
    const [line] = admin.logged('admin_token_unusable')
    expect(line?.['reason']).toMatch(reason)
    expect(JSON.stringify(line)).not.toContain('short-and-secret')
  })
})
