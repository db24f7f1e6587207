import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { AUTH, startProvider } from '../../../tests/support/sandbox/provider-fixture.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }

describe('an error', () => {
  it.each([
    ['2026-11-01', '2024-01-01'],
    ['2023-12-31', null],
    ['nonsense', null],
  ])('an error for API version %s has the format of %s', async (version, dialect) => {
    const headers = { 'x-supabase-api-version': version }
    const response = await startProvider().call('POST', '/token?grant_type=password', ADA, headers)
    expect(response.status).toBe(400)
    expect(response.headers.get('x-sb-error-code')).toBe('invalid_credentials')
    expect(response.headers.get('x-supabase-api-version')).toBe(dialect)
  })

  it.each([
    ['not JSON', 400, 'bad_json', '/signup', '{'],
    ['a number for text', 400, 'bad_json', '/signup', '{"email":1,"password":"123456"}'],
    ['no password', 400, 'validation_failed', '/signup', '{"email":"a@b"}'],
    ['a bad address', 400, 'validation_failed', '/signup', '{"email":"a b","password":"123456"}'],
    ['no grant', 400, 'invalid_credentials', '/token', '{}'],
    ['64 KiB and one', 413, 'validation_failed', '/signup', 'x'.repeat(65_537)],
    ['no bearer token', 401, 'no_authorization', '/logout', ''],
  ])('an error for %s is %i %s', async (_what, status, code, path, text) => {
    const headers = { 'x-supabase-api-version': '2024-01-01' }
    const response = await startProvider().fetch(
      new Request(`${AUTH}${path}`, { method: 'POST', headers, body: text }),
    )
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({ code, message: expect.any(String) })
  })

  it('an internal error shows no details', async () => {
    const provider = startProvider()
    provider.close()
    const response = await provider.call('POST', '/signup', ADA)
    expect(response.status).toBe(500)
    expect(await response.json()).toEqual({ code: 'unexpected_failure', message: 'Unexpected failure' })
  })
})

it('the API never shows a secret of the account', async () => {
  const { admin, client } = startProvider()
  const { id } = await admin.createUser(ADA)
  const { secret } = admin.enrollTotp(id)
  const { data } = await client().auth.signInWithPassword(ADA)
  expect(JSON.stringify(data.user)).not.toMatch(new RegExp(`scrypt|${secret}|refresh`))
})

it('accounts, sessions, factors and keys survive a restart', async () => {
  const database = join(temporaryFolder(), 'nested', 'provider.db')
  const before = startProvider({ database })
  const { id } = await before.admin.createUser(ADA)
  const { factorId } = before.admin.enrollTotp(id)
  const { data } = await before.client().auth.signInWithPassword(ADA)
  const jwks = await (await before.call('GET', '/.well-known/jwks.json')).json()
  before.close()

  const after = startProvider({ database })
  expect(await (await after.call('GET', '/.well-known/jwks.json')).json()).toEqual(jwks)
  const { auth } = after.client()
  const refreshed = await auth.refreshSession({ refresh_token: data.session?.refresh_token ?? '' })
  expect(refreshed.data.user).toMatchObject({ id, factors: [{ id: factorId, status: 'verified' }] })
  expect((await auth.getUser(data.session?.access_token)).error).toBeNull()
  after.close()
  expect(statSync(database).mode & 0o077).toBe(0)
})
