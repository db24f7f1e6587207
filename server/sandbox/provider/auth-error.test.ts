import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AuthError, renderAuthError } from './auth-error.ts'

const WEAK = new AuthError(422, 'weak_password', 'Too short', { weak_password: { reasons: ['length'] } })

const asked = (version?: string): Request =>
  new Request('http://localhost/', {
    headers: version === undefined ? {} : { 'x-supabase-api-version': version },
  })

describe('an error', () => {
  it('is an Error with a public message', () => {
    expect(WEAK).toBeInstanceOf(Error)
    expect(WEAK.name).toBe('AuthError')
    expect(WEAK.message).toBe('Too short')
  })

  it('carries its extra members in both dialects', async () => {
    const weakPassword = { reasons: ['length'] }
    expect(await renderAuthError(WEAK, asked('2024-01-01')).json()).toEqual({
      code: 'weak_password',
      message: 'Too short',
      weak_password: weakPassword,
    })
    expect(await renderAuthError(WEAK, asked()).json()).toEqual({
      code: 422,
      error_code: 'weak_password',
      msg: 'Too short',
      weak_password: weakPassword,
    })
  })

  it('is of the newer dialect exactly when the version is a date not before 2024', async () => {
    const day = fc.tuple(
      fc.integer({ min: 2000, max: 2099 }),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 28 }),
    )
    await fc.assert(
      fc.asyncProperty(day, async ([year, month, date]) => {
        const version = `${year}-${String(month).padStart(2, '0')}-${String(date).padStart(2, '0')}`
        const response = renderAuthError(WEAK, asked(version))
        expect(response.headers.get('x-supabase-api-version')).toBe(year >= 2024 ? '2024-01-01' : null)
        expect(await response.json()).toMatchObject(year >= 2024 ? { code: 'weak_password' } : { code: 422 })
      }),
    )
  })

  it.each(['2024', '2024-1-1', '20240101', ' ', '2024-01-01, 2024-01-01', '9999', 'z'])(
    'is of the older dialect for the version %j',
    async (version) => {
      expect(await renderAuthError(WEAK, asked(version)).json()).toMatchObject({
        error_code: 'weak_password',
      })
    },
  )
})
